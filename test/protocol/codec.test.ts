/** Whole frames: heads, versions, defaults, cuts around records, and what a version has no place for. */
import { describe, expect, it } from 'vitest';
import { Reader } from '../../core/lib/cursor.ts';
import { ProtocolError } from '../../core/lib/protocol-error.ts';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import { isServed, requestHeaderVersion, responseHeaderVersion } from '../../core/protocol/api.ts';
import {
  decodeRequest,
  decodeResponse,
  encodeRequest,
  encodeResponse,
  peekRequest,
  peekResponse,
} from '../../core/protocol/codec.ts';
import { bodyBytes, readBody } from '../../core/protocol/compile.ts';
import { decoderText } from '../../core/protocol/compile-decode.ts';
import { encoderText } from '../../core/protocol/compile-encode.ts';
import { RequestHeader, ResponseHeader } from '../../core/protocol/headers.ts';
import { ProduceRequest } from '../../core/protocol/messages/00-produce.ts';
import { FetchResponse } from '../../core/protocol/messages/01-fetch.ts';
import { ApiVersionsResponse } from '../../core/protocol/messages/18-api-versions.ts';
import { APIS, apiOf } from '../../core/protocol/messages/index.ts';
import { joined } from './arbitrary.ts';

const records = Uint8Array.from({ length: 500 }, (_, index) => index & 255);
const produce = {
  acks: -1,
  timeoutMs: 1500,
  topicData: [{ name: 'tide', topicId: ZERO_UUID, partitionData: [{ index: 3, records }] }],
};

/** A frame without its length, which must be right. */
function frameOf(parts: readonly Uint8Array[]): Uint8Array {
  const whole = joined(parts);
  expect(new DataView(whole.buffer).getInt32(0)).toBe(whole.length - 4);
  return whole.slice(4);
}

describe('a request', () => {
  it.each([8, 9])('of version %i has its own head, its defaults, and records as a view of the frame', (version) => {
    const parts = encodeRequest(0, version, 7, 'me', produce);
    expect(parts[1]).toBe(records);
    const frame = frameOf(parts);
    expect(peekRequest(frame)).toEqual({ apiKey: 0, apiVersion: version, correlationId: 7 });
    const { header, body } = decodeRequest(0, version, frame);
    expect(header.clientId).toBe('me');
    expect(body.transactionalId).toBeNull();
    expect(body.topicData[0]?.partitionData[0]?.records?.buffer).toBe(frame.buffer);
    expect(body.topicData).toEqual(produce.topicData);
  });

  it('has the head that the schema describes', () => {
    for (const version of [8, 9]) {
      const frame = frameOf(encodeRequest(0, version, 7, null, produce));
      const api = apiOf(0)!;
      const expected = { requestApiKey: 0, requestApiVersion: version, correlationId: 7, clientId: null };
      const reader = new Reader(frame);
      expect(readBody(RequestHeader, requestHeaderVersion(api, version), reader)).toEqual(expected);
      const bytes = bodyBytes(RequestHeader, requestHeaderVersion(api, version), expected);
      expect(frame.slice(0, bytes.length)).toStrictEqual(bytes);
    }
  });

  it('is read even if bytes follow its last field, as Kafka does', () => {
    const frame = joined([frameOf(encodeRequest(0, 9, 7, 'me', produce)), Uint8Array.of(1, 2)]);
    expect(decodeRequest(0, 9, frame).body.acks).toBe(-1);
  });

  it('of a version or key that does not exist is refused', () => {
    const frame = frameOf(encodeRequest(0, 9, 7, 'me', produce));
    expect(() => decodeRequest(0, 14, frame)).toThrow(/no version 14/);
    expect(() => decodeRequest(0, 2, frame)).toThrow(/no version 2/);
    expect(() => decodeRequest(0, -1, frame)).toThrow(/no version -1/);
    expect(() => decodeRequest(1000 as 0, 0, frame)).toThrow(/no API/);
    expect(peekRequest(frame.subarray(0, 7))).toBeNull();
  });
});

describe('a hostile request', () => {
  /** A Fetch that is sound up to its last section of tags, which is replaced. */
  const withTags = (count: number): Uint8Array => {
    const body = { maxWaitMs: 0, minBytes: 0, topics: [], forgottenTopicsData: [] };
    const frame = frameOf(encodeRequest(1, 12, 1, null, body));
    const tags = Array.from({ length: count }, (_, index) => [
      0x80 | (index & 0x7f),
      0x80 | ((index >> 7) & 0x7f),
      0x01,
      0,
    ]);
    const length = [0x80 | (count & 0x7f), 0x80 | ((count >> 7) & 0x7f), count >> 14];
    return Uint8Array.from([...frame.subarray(0, -1), ...length, ...tags.flat()]);
  };

  it('may have ten thousand unknown tags, and not one more', () => {
    expect(decodeRequest(1, 12, withTags(10_000)).body.clusterId).toBeNull();
    expect(() => decodeRequest(1, 12, withTags(10_001))).toThrow(/too many tagged/);
  });

  it('that claims two billion topics is refused by the bytes it has', () => {
    const frame = frameOf(encodeRequest(3, 1, 1, null, { topics: [] } as never));
    new DataView(frame.buffer).setInt32(frame.length - 4, 2_000_000_000);
    expect(() => decodeRequest(3, 1, frame)).toThrow(/length/);
  });
});

describe('a response', () => {
  const partition = {
    partitionIndex: 0,
    errorCode: 0,
    highWatermark: 10,
    lastStableOffset: 10,
    logStartOffset: 0,
    abortedTransactions: null,
    preferredReadReplica: -1,
  };

  it('takes records as one view, as several, or as none, and copies no byte of them', () => {
    const views = [records.subarray(0, 100), records.subarray(100, 130)];
    const body = {
      throttleTimeMs: 0,
      errorCode: 0,
      sessionId: 0,
      responses: [
        {
          topic: 'tide',
          topicId: ZERO_UUID,
          partitions: [
            { ...partition, records: views },
            { ...partition, partitionIndex: 1, records: null },
            { ...partition, partitionIndex: 2, records },
            { ...partition, partitionIndex: 3, records: [] },
          ],
        },
      ],
    };
    for (const version of [4, 11, 12, 18]) {
      const parts = encodeResponse(1, version, 9, body);
      expect(parts.filter((part) => part === views[0] || part === views[1] || part === records)).toHaveLength(3);
      const frame = frameOf(parts);
      expect(peekResponse(frame)).toBe(9);
      const back = decodeResponse(1, version, frame).body.responses[0]?.partitions;
      expect(back?.map((item) => item.records?.length ?? null)).toEqual([130, null, 500, 0]);
      expect(back?.[0]?.currentLeader).toEqual({ leaderId: -1, leaderEpoch: -1 });
    }
  });

  it('has the head that the schema describes, and ApiVersions the oldest one always', () => {
    for (const api of APIS) {
      for (let version = api.response.versions.since; version <= api.response.versions.until; version++) {
        const head = responseHeaderVersion(api, version);
        const bytes = bodyBytes(ResponseHeader, head, { correlationId: 3 });
        expect(bytes.length).toBe(head === 0 ? 4 : 5);
        if (api.key === 18) expect(head).toBe(0);
      }
    }
  });

  it('with bytes after its last field is refused', () => {
    const frame = frameOf(encodeResponse(12, 0, 1, { throttleTimeMs: 0, errorCode: 0 }));
    expect(decodeResponse(12, 0, frame).body).toEqual({ throttleTimeMs: 0, errorCode: 0 });
    expect(() => decodeResponse(12, 0, joined([frame, Uint8Array.of(0)]))).toThrow(/bytes remain/);
  });
});

describe('a field that a version lacks', () => {
  it('is dropped if it may be, and refused otherwise', () => {
    const withLeader = {
      responses: [],
      throttleTimeMs: 0,
      nodeEndpoints: [{ nodeId: 1, host: 'h', port: 1 }],
    };
    expect(() => encodeResponse(0, 9, 1, withLeader)).toThrow(/no field nodeEndpoints/);
    encodeResponse(0, 10, 1, withLeader);
    const transactional = { ...produce, topicData: [{ ...produce.topicData[0]!, topicId: 'AAAAAAAAAAAAAAAAAAAAAQ' }] };
    encodeRequest(0, 9, 1, 'me', transactional);
  });

  it('is refused when it is null where it may not be', () => {
    const all = { topics: null, allowAutoTopicCreation: true };
    encodeRequest(3, 1, 1, 'me', all as never);
    expect(() => encodeRequest(3, 0, 1, 'me', all as never)).toThrow(/may not be null/);
  });
});

describe('the table of APIs', () => {
  it('finds each by its key, and nothing else', () => {
    for (const api of APIS) expect(apiOf(api.key)).toBe(api);
    expect(apiOf(-1)).toBeUndefined();
    expect(apiOf(4)).toBeUndefined();
    expect(apiOf(95)).toBeUndefined();
  });

  it('serves what is both advertised and known', () => {
    const produceApi = apiOf(0)!;
    expect([2, 3, 13, 14].map((version) => isServed(produceApi, version))).toEqual([false, true, true, false]);
    expect(produceApi.advertised).toEqual({ since: 0, until: 13 });
    expect(isServed(apiOf(22)!, 6)).toBe(false);
  });
});

describe('compiled text', () => {
  it.each([
    [ProduceRequest, 9],
    [FetchResponse, 17],
    [ApiVersionsResponse, 3],
  ] as const)('is what reviewers have seen (%#)', async (message, version) => {
    const text = `${decoderText(message, version, false)}\n${encoderText(message, version, false)}`;
    await expect(text).toMatchFileSnapshot(`golden/${message.name}.v${version}.js`);
  });
});

describe('a response that names one large thing again and again', () => {
  it('is refused before it takes the memory', () => {
    const memberAssignment = new Uint8Array(1024 * 1024);
    const texts = { memberId: 'm', clientId: '', clientHost: '' };
    const member = { ...texts, groupInstanceId: null, memberMetadata: new Uint8Array(0), memberAssignment };
    const head = { errorCode: 0, errorMessage: null, groupState: '', protocolType: '', protocolData: '' };
    const group = { ...head, groupId: 'g', members: [member], authorizedOperations: 0 };
    const body = { throttleTimeMs: 0, groups: Array.from({ length: 20_000 }, () => group) };
    expect(() => encodeResponse(15, 5, 1, body)).toThrow(ProtocolError);
  });
});
