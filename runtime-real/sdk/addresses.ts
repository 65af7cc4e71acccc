/** Addresses and bytes as people write them. No state. */
import type { Address } from '../../core/channel/channel.ts';

/** Text or bytes; text is sent as UTF-8. */
export type Bytes = Uint8Array | string;

const PORT_DEFAULT = 9092;
const encoder = new TextEncoder();

/** Reads `host:port[,host:port]…`; the port is 9092 if absent, an IPv6 address stands in brackets. */
export function parseBootstrap(text: string): Address[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map(parseAddress);
}

function parseAddress(text: string): Address {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text);
  const port = match?.[3] === undefined ? PORT_DEFAULT : Number(match[3]);
  if (match === null || port > 65_535) throw new TypeError(`not an address: ${text}`);
  return { host: (match[1] ?? match[2]) as string, port };
}

/** The bytes of a key or value; null stays null. */
export function toBytes(value: Bytes | null | undefined): Uint8Array | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? encoder.encode(value) : value;
}
