/**
 * What the metadata of very many partitions costs, simulated (`metadata-cluster.ts`): every image of 50 brokers and
 * three controllers in one process, and what happens to all of them when a broker fails.
 *
 *   npm run bench -- --metadata            100,000 partitions of three replicas on 50 brokers of five racks
 *   npm run bench -- --metadata --json
 */
import { mapValues } from '../../core/metadata/sharded-map.ts';
import { heapBytes, ownProcessorMs } from '../peers/process.ts';
import { median } from './figures.ts';
import {
  createTopics,
  failBroker,
  followedImages,
  liveImage,
  startMetadataCluster,
  type Work,
} from './metadata-cluster.ts';

/** What to measure. */
export interface MetadataOptions {
  readonly topics: number;
  /** Of each topic. */
  readonly partitions: number;
  readonly brokers: number;
  /** Takes a line for whoever waits. */
  readonly say: (line: string) => void;
}

/** What was measured. Times are processor time. */
export interface MetadataFigures {
  readonly partitions: number;
  readonly brokers: number;
  /** Images that are kept: of each broker and each controller. */
  readonly images: number;
  readonly records: number;
  readonly logBytes: number;
  readonly buildMs: number;
  /** Live on the heap with all images, and the most that the process has had of memory. */
  readonly heapBytes: number;
  readonly residentBytesMax: number;
  readonly bytesPerImage: number;
  readonly failures: readonly Failure[];
}

/** What one broker's failure comes to, from the end of its session. */
export interface Failure {
  readonly broker: number;
  /** Partitions that it led, and those that it had a replica of. */
  readonly led: number;
  readonly held: number;
  readonly records: number;
  readonly bytes: number;
  readonly batches: number;
  readonly steps: number;
  /** Deciding, encoding, and the controller's image. */
  readonly controllerMs: number;
  /** Reading and the image of one that follows: the median of all, and the slowest. */
  readonly followerMs: number;
  readonly followerMsMax: number;
  /** Until a broker has its image: the controller's part and that of the broker. */
  readonly imageMs: number;
}

const STANDBY = 2;
const RACKS = 5;
/** Topics of one request: their records fit into what a controller takes at a time. */
const TOPICS_AT_ONCE = 100;
/**
 * Brokers that fail one after the other. The first ones run code that nothing has compiled yet; they are told of, and
 * the budget is for the others.
 */
const FAILURES = { cold: 5, warm: 10 };
/** What the figures are held to. `imageMs`: the median of the warm failures. */
const METADATA_BUDGET = { bytes: 2 * 1024 ** 3, imageMs: 50 };

/** Builds the cluster, lets brokers fail, and measures both. */
export function measureMetadata({ topics, partitions, brokers, say }: MetadataOptions): MetadataFigures {
  const before = heapBytes();
  const cluster = startMetadataCluster(STANDBY, brokers, RACKS);
  const buildMs = ownProcessorMs(() => {
    for (let from = 0; from < topics; from += TOPICS_AT_ONCE) {
      const names = Array.from({ length: Math.min(TOPICS_AT_ONCE, topics - from) }, (_, i) => `topic-${from + i}`);
      createTopics(cluster, names, partitions);
      if (from % 1000 === 0) say(`${from} of ${topics} topics`);
    }
  });
  const { end: records, bytes: logBytes } = cluster;
  const heap = heapBytes();
  const images = followedImages(cluster).length + 1;
  const failures: Failure[] = [];
  for (const broker of cluster.brokers.slice(0, FAILURES.cold + FAILURES.warm)) {
    const counts = countsOf(cluster, broker);
    failures.push(failureOf(broker, counts, failBroker(cluster, broker)));
    const sides = [liveImage(cluster), ...followedImages(cluster)];
    if (sides.some((image) => image.cluster.brokers.get(broker)?.fenced !== true)) throw new Error('it is not fenced');
    if (countsOf(cluster, broker).led > 0) throw new Error('a broker that has failed leads');
  }
  return {
    partitions: topics * partitions,
    brokers,
    images,
    records,
    logBytes,
    buildMs,
    heapBytes: heap,
    residentBytesMax: process.resourceUsage().maxRSS * 1024,
    bytesPerImage: Math.round((heap - before) / images),
    failures,
  };
}

/** Whether everything is within its bounds. */
export function keepsMetadataBudget({ residentBytesMax, failures }: MetadataFigures): boolean {
  return residentBytesMax <= METADATA_BUDGET.bytes && warmImageMs(failures) <= METADATA_BUDGET.imageMs;
}

/** From the end of a session to a broker's image, ms: the median of all failures but the first ones. */
function warmImageMs(failures: readonly Failure[]): number {
  return median(failures.slice(FAILURES.cold).map(({ imageMs }) => imageMs));
}

function failureOf(broker: number, { led, held }: { led: number; held: number }, work: Work): Failure {
  const { records, bytes, batches, steps, controllerMs, followerMs } = work;
  const middle = median(followerMs);
  const followers = { followerMs: middle, followerMsMax: Math.max(...followerMs) };
  const imageMs = controllerMs + middle;
  return { broker, led, held, records, bytes, batches, steps, controllerMs, ...followers, imageMs };
}

function countsOf(cluster: Parameters<typeof liveImage>[0], broker: number): { led: number; held: number } {
  let led = 0;
  let held = 0;
  for (const topic of mapValues(liveImage(cluster).topics.byId)) {
    for (const { leader, replicas } of topic.partitions) {
      if (leader === broker) led++;
      if (replicas.includes(broker)) held++;
    }
  }
  return { led, held };
}

/** The figures as lines for people. */
export function metadataLines(figures: MetadataFigures): string {
  const lines: string[] = [];
  const add = (what: string, value: number, unit = ''): void => {
    lines.push(`${what.padEnd(52)}${Number(value.toPrecision(4))} ${unit}`.trimEnd());
  };
  const mebi = 1024 * 1024;
  add('partitions, of three replicas', figures.partitions);
  add('brokers', figures.brokers);
  add('records of the metadata log', figures.records);
  add('  their bytes', figures.logBytes / mebi, 'MiB');
  add('to make all images, processor time', figures.buildMs / 1000, 's');
  add('images', figures.images);
  add('  each', figures.bytesPerImage / mebi, 'MiB');
  add('  all, live', figures.heapBytes / mebi, 'MiB');
  add('most resident memory of the process', figures.residentBytesMax / mebi, 'MiB');
  add('until a broker has its image, warm, median', warmImageMs(figures.failures), 'ms');
  for (const [i, failure] of figures.failures.entries()) {
    if (i > 0 && i !== FAILURES.cold) {
      add(`failure ${i + 1}: until a broker has its image`, failure.imageMs, 'ms');
      continue;
    }
    add(`failure ${i + 1}${i === 0 ? ', cold' : ', warm'}: partitions that the broker led`, failure.led);
    add('  that it had a replica of', failure.held);
    add('  records', failure.records);
    add('    their bytes', failure.bytes / 1024, 'KiB');
    add('    batches', failure.batches);
    add('  steps of all machines', failure.steps);
    add('  the controller, processor time', failure.controllerMs, 'ms');
    add('  a follower, median', failure.followerMs, 'ms');
    add('    slowest', failure.followerMsMax, 'ms');
    add('  until a broker has its image', failure.imageMs, 'ms');
  }
  return `${lines.join('\n')}\n`;
}
