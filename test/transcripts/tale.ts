/** How transcripts of several nodes tell what happens: line by line, each with its time, and only what is news. */

/** What happened, told in the order of its causes: a step tells what has changed, and then what was said. */
export interface Tale {
  readonly startMs: number;
  /** Told, and not yet shown. */
  readonly lines: string[];
  /** Said in the step under way. */
  readonly said: string[];
  /** By what it is about: what was told last. */
  readonly known: Map<string, string>;
}

/** A tale that begins now. */
export function createTale(startMs: number): Tale {
  return { startMs, lines: [], said: [], known: new Map() };
}

/** Adds a line, with its time; of what it is `about` only if that was not told last. */
export function tell(tale: Tale, nowMs: number, text: string, about = ''): void {
  if (about !== '' && !isNews(tale, about, text)) return;
  tale.lines.push(`${String(nowMs - tale.startMs).padStart(6)}  ${text}`);
}

/** A message leaves, to be told behind what the step has changed. Of '' nothing is told; of a fetch, what is news. */
export function say({ said, known }: Tale, way: string, apiKey: number, text: string): void {
  if (text !== '' && (apiKey !== FETCH_KEY || isNews({ known }, way, text))) said.push(`${way}  ${text}`);
}

const FETCH_KEY = 1;

function isNews({ known }: Pick<Tale, 'known'>, about: string, text: string): boolean {
  if (known.get(about) === text) return false;
  known.set(about, text);
  return true;
}

/** The step is over. */
export function endSaying(tale: Tale, nowMs: number): void {
  for (const text of tale.said.splice(0)) tell(tale, nowMs, text);
}

/** Where a log stands. */
export function logText(log: { start: number; end: number; durable: number }, highWatermark: number): string {
  const from = log.start > 0 ? `begins at ${log.start}, ` : '';
  return `log ${from}ends at ${log.end}, synced to ${log.durable}, high watermark ${highWatermark}`;
}
