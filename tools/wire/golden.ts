/**
 * Golden frames: what other programs said to each other, kept to hold our schemas to.
 *
 * One JSON object a line and exchange: who spoke, the API, its version, and both frames in base64 without their
 * lengths. Bytes on the wire are facts; nothing else of the programs is kept.
 */

/** One request and its response. */
export interface Exchange {
  /** The client that spoke: a file of golden frames holds one client. */
  readonly client: string;
  readonly api: string;
  readonly key: number;
  readonly version: number;
  /** The request's frame, base64. */
  readonly request: string;
  /** The response's frame, base64; null where the protocol has none (acks=0). */
  readonly response: string | null;
}

/** One exchange as a line. */
export function formatExchange(exchange: Exchange): string {
  return `${JSON.stringify(exchange)}\n`;
}

/** All exchanges of a file. */
export function parseExchanges(text: string): Exchange[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Exchange);
}
