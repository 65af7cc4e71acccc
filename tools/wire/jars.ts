/**
 * Fetches Apache Kafka's published jars and reads the message definitions inside them.
 *
 * The jars go into a cache folder outside of the project and are never part of it: their definitions are facts to
 * compare with. Needs `mvn` and `unzip` on the path, and the network once.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Definition, parseDefinition } from './compare.ts';

/** The release that the schemas follow. */
export const KAFKA_VERSION = '4.4.0';

/** The artifacts that hold definitions, and the folder of them inside each jar. */
const SOURCES: readonly (readonly [artifact: string, folder: string])[] = [
  ['kafka-clients', 'common/message'],
  ['kafka-storage', 'message'],
  ['kafka-raft', 'common/message'],
  ['kafka-metadata', 'common/metadata'],
  ['kafka-group-coordinator', 'common/message'],
];

const MAVEN_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy';

/** The path of a jar, fetched into the cache if it is not there. */
function jarOf(artifact: string): string {
  const cache = process.env.TIDEMARK_WIRE_CACHE ?? join(tmpdir(), 'tidemark-wire');
  mkdirSync(cache, { recursive: true });
  const name = `${artifact}-${KAFKA_VERSION}.jar`;
  const jar = join(cache, name);
  if (existsSync(jar)) return jar;
  // Aside first: a run that is killed must not leave half a jar under the real name.
  const part = mkdtempSync(join(cache, 'part-'));
  const coordinates = `-Dartifact=org.apache.kafka:${artifact}:${KAFKA_VERSION}`;
  execFileSync('mvn', ['-q', '-B', MAVEN_PLUGIN, coordinates, `-DoutputDirectory=${part}`], { stdio: 'pipe' });
  renameSync(join(part, name), jar);
  rmSync(part, { recursive: true });
  return jar;
}

/** All definitions of the release, by the name of their message. */
export function kafkaDefinitions(): Map<string, Definition> {
  const definitions = new Map<string, Definition>();
  for (const [artifact, folder] of SOURCES) {
    const jar = jarOf(artifact);
    const target = mkdtempSync(join(tmpdir(), 'tidemark-definitions-'));
    try {
      execFileSync('unzip', ['-qo', jar, `${folder}/*.json`, '-d', target], { stdio: 'pipe' });
      for (const name of readdirSync(join(target, folder))) {
        const definition = parseDefinition(readFileSync(join(target, folder, name), 'utf8'));
        definitions.set(definition.name, definition);
      }
    } finally {
      rmSync(target, { recursive: true });
    }
  }
  return definitions;
}
