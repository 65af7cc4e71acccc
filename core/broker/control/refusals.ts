/** What the controller's clients are told when the controller did not answer: each API has its own place for it. */
import type { ControllerKey } from '../../controller/handle.ts';
import { ZERO_UUID } from '../../lib/uuid.ts';
import type { ErrorCode } from '../../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../../protocol/messages/index.ts';

/** The answer that refuses the whole of a request. */
export function refusalOf(
  apiKey: ControllerKey,
  version: number,
  body: RequestOf<ControllerKey>,
  errorCode: ErrorCode,
): ResponseInputOf<ControllerKey> {
  const throttleTimeMs = 0;
  const error = { errorCode, errorMessage: null };
  switch (apiKey) {
    case 19:
      return {
        throttleTimeMs,
        topics: (body as RequestOf<19>).topics.map(({ name }) => ({ name, topicId: ZERO_UUID, ...error, configs: [] })),
      };
    case 20: {
      const { topics, topicNames } = body as RequestOf<20>;
      const asked = version >= 6 ? topics : topicNames.map((name) => ({ name, topicId: ZERO_UUID }));
      return { throttleTimeMs, responses: asked.map(({ name, topicId }) => ({ name, topicId, ...error })) };
    }
    case 33:
    case 44: {
      const { resources } = body as RequestOf<33>;
      return {
        throttleTimeMs,
        responses: resources.map(({ resourceType, resourceName }) => ({ ...error, resourceType, resourceName })),
      };
    }
    case 37: {
      const { topics } = body as RequestOf<37>;
      return { throttleTimeMs, results: topics.map(({ name }) => ({ name, ...error })) };
    }
    case 43:
      return { throttleTimeMs, errorCode, replicaElectionResults: [] };
    case 45:
      return { throttleTimeMs, ...error, responses: [] };
    case 46:
      return { throttleTimeMs, ...error, topics: [] };
    case 56:
      return { throttleTimeMs, errorCode, topics: [] };
    case 57:
      return { throttleTimeMs, ...error, results: [] };
    case 62:
      return { throttleTimeMs, errorCode, brokerEpoch: -1 };
    case 63:
      return { throttleTimeMs, errorCode, shouldShutDown: false };
    case 64:
    case 70:
    case 94:
      return { throttleTimeMs, ...error };
    case 67:
      return { throttleTimeMs, errorCode, producerIdStart: -1, producerIdLen: 0 };
    case 73:
      return { throttleTimeMs, errorCode, directories: [] };
  }
}
