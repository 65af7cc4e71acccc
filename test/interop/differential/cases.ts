/** All cases, in the order in which they are asked, and the few where we answer otherwise than Apache Kafka does. */
import { FETCH_CASES } from './fetch.ts';
import { OTHER_CASES } from './others.ts';
import { PRODUCE_CASES, type Run } from './produce.ts';

/** By name. */
export const CASES: readonly [string, Run][] = [...FETCH_CASES, ...PRODUCE_CASES, ...OTHER_CASES];

/** Where we answer otherwise on purpose, and why. */
export const DIFFERS: ReadonlyMap<string, string> = new Map([]);
