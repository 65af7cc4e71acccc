'use strict';
function readResponsesPartitionsAbortedTransactions(r) {
  const $producerId = r.int64();
  const $firstOffset = r.int64();
  r.skipTags();
  return { producerId: $producerId, firstOffset: $firstOffset };
}
function readResponsesPartitionsDivergingEpoch(r) {
  const $epoch = r.int32();
  const $endOffset = r.int64();
  r.skipTags();
  return { epoch: $epoch, endOffset: $endOffset };
}
function readResponsesPartitionsCurrentLeader(r) {
  const $leaderId = r.int32();
  const $leaderEpoch = r.int32();
  r.skipTags();
  return { leaderId: $leaderId, leaderEpoch: $leaderEpoch };
}
function readResponsesPartitionsSnapshotId(r) {
  const $endOffset = r.int64();
  const $epoch = r.int32();
  r.skipTags();
  return { endOffset: $endOffset, epoch: $epoch };
}
function readResponsesPartitions(r) {
  const $partitionIndex = r.int32();
  const $errorCode = r.int16();
  const $highWatermark = r.int64();
  const $lastStableOffset = r.int64();
  const $logStartOffset = r.int64();
  let $divergingEpoch = { epoch: -1, endOffset: -1 };
  let $currentLeader = { leaderId: -1, leaderEpoch: -1 };
  let $snapshotId = { endOffset: -1, epoch: -1 };
  const abortedTransactionsLength = r.compactArrayLength(17);
  const $abortedTransactions = abortedTransactionsLength < 0 ? null : [];
  for (let i = 0; i < abortedTransactionsLength; i++) $abortedTransactions.push(readResponsesPartitionsAbortedTransactions(r));
  const $preferredReadReplica = r.int32();
  const $records = r.compactNullableBytes();
  for (let left = r.tagCount(); left > 0; left--) {
    const tag = r.unsignedVarint();
    const size = r.unsignedVarint();
    const start = r.position;
    switch (tag) {
      case 0: {
        $divergingEpoch = readResponsesPartitionsDivergingEpoch(r);
        if (r.position - start !== size) fail('divergingEpoch');
        break;
      }
      case 1: {
        $currentLeader = readResponsesPartitionsCurrentLeader(r);
        if (r.position - start !== size) fail('currentLeader');
        break;
      }
      case 2: {
        $snapshotId = readResponsesPartitionsSnapshotId(r);
        if (r.position - start !== size) fail('snapshotId');
        break;
      }
      default: r.skip(size);
    }
  }
  return { partitionIndex: $partitionIndex, errorCode: $errorCode, highWatermark: $highWatermark, lastStableOffset: $lastStableOffset, logStartOffset: $logStartOffset, divergingEpoch: $divergingEpoch, currentLeader: $currentLeader, snapshotId: $snapshotId, abortedTransactions: $abortedTransactions, preferredReadReplica: $preferredReadReplica, records: $records };
}
function readResponses(r) {
  const $topic = "";
  const $topicId = r.uuid();
  const partitionsLength = r.compactArrayLength(37);
  if (partitionsLength < 0) fail('partitions');
  const $partitions = [];
  for (let i = 0; i < partitionsLength; i++) $partitions.push(readResponsesPartitions(r));
  r.skipTags();
  return { topic: $topic, topicId: $topicId, partitions: $partitions };
}
function readNodeEndpoints(r) {
  const $nodeId = r.int32();
  const $host = r.compactString();
  const $port = r.int32();
  const $rack = r.compactNullableString();
  r.skipTags();
  return { nodeId: $nodeId, host: $host, port: $port, rack: $rack };
}
function read(r) {
  const $throttleTimeMs = r.int32();
  const $errorCode = r.int16();
  const $sessionId = r.int32();
  const responsesLength = r.compactArrayLength(18);
  if (responsesLength < 0) fail('responses');
  const $responses = [];
  for (let i = 0; i < responsesLength; i++) $responses.push(readResponses(r));
  let $nodeEndpoints = [];
  for (let left = r.tagCount(); left > 0; left--) {
    const tag = r.unsignedVarint();
    const size = r.unsignedVarint();
    const start = r.position;
    switch (tag) {
      case 0: {
        const nodeEndpointsLength = r.compactArrayLength(11);
        if (nodeEndpointsLength < 0) fail('nodeEndpoints');
        $nodeEndpoints = [];
        for (let i = 0; i < nodeEndpointsLength; i++) $nodeEndpoints.push(readNodeEndpoints(r));
        if (r.position - start !== size) fail('nodeEndpoints');
        break;
      }
      default: r.skip(size);
    }
  }
  return { throttleTimeMs: $throttleTimeMs, errorCode: $errorCode, sessionId: $sessionId, responses: $responses, nodeEndpoints: $nodeEndpoints };
}
return read;
//# sourceURL=FetchResponse.v17.decode.js

'use strict';
function sizeResponsesPartitionsAbortedTransactions(m) {
  let n = 16;
  n += 1;
  return n;
}
function writeResponsesPartitionsAbortedTransactions(w, m) {
  w.int64(m.producerId);
  w.int64(m.firstOffset);
  w.unsignedVarint(0);
}
function sizeResponsesPartitionsAbortedTransactionsArray(a) {
  if (a === null) return 1;
  let n = varintSize(a.length + 1);
  for (let i = 0; i < a.length; i++) n += sizeResponsesPartitionsAbortedTransactions(a[i]);
  return n;
}
function writeResponsesPartitionsAbortedTransactionsArray(w, a) {
  if (a === null) return w.unsignedVarint(0);
  w.unsignedVarint(a.length + 1);
  for (let i = 0; i < a.length; i++) writeResponsesPartitionsAbortedTransactions(w, a[i]);
}
function isPlainResponsesPartitionsDivergingEpoch(m) {
  return m === undefined || (m !== null && (m.epoch === undefined || m.epoch === -1) && (m.endOffset === undefined || m.endOffset === -1));
}
function sizeResponsesPartitionsDivergingEpoch(m) {
  let n = 12;
  n += 1;
  return n;
}
function writeResponsesPartitionsDivergingEpoch(w, m) {
  w.int32(m.epoch === undefined ? -1 : m.epoch);
  w.int64(m.endOffset === undefined ? -1 : m.endOffset);
  w.unsignedVarint(0);
}
function isPlainResponsesPartitionsCurrentLeader(m) {
  return m === undefined || (m !== null && (m.leaderId === undefined || m.leaderId === -1) && (m.leaderEpoch === undefined || m.leaderEpoch === -1));
}
function sizeResponsesPartitionsCurrentLeader(m) {
  let n = 8;
  n += 1;
  return n;
}
function writeResponsesPartitionsCurrentLeader(w, m) {
  w.int32(m.leaderId === undefined ? -1 : m.leaderId);
  w.int32(m.leaderEpoch === undefined ? -1 : m.leaderEpoch);
  w.unsignedVarint(0);
}
function isPlainResponsesPartitionsSnapshotId(m) {
  return m === undefined || (m !== null && (m.endOffset === undefined || m.endOffset === -1) && (m.epoch === undefined || m.epoch === -1));
}
function sizeResponsesPartitionsSnapshotId(m) {
  let n = 12;
  n += 1;
  return n;
}
function writeResponsesPartitionsSnapshotId(w, m) {
  w.int64(m.endOffset === undefined ? -1 : m.endOffset);
  w.int32(m.epoch === undefined ? -1 : m.epoch);
  w.unsignedVarint(0);
}
function sizeResponsesPartitions(m) {
  let n = 34;
  const $abortedTransactions = m.abortedTransactions;
  n += sizeResponsesPartitionsAbortedTransactionsArray($abortedTransactions);
  const $records = m.records;
  n += compactCutSize($records);
  let tags = 0;
  if (!(isPlainResponsesPartitionsDivergingEpoch(m.divergingEpoch))) { tags++; n += taggedSize(0, sizeResponsesPartitionsDivergingEpoch(m.divergingEpoch)); }
  if (!(isPlainResponsesPartitionsCurrentLeader(m.currentLeader))) { tags++; n += taggedSize(1, sizeResponsesPartitionsCurrentLeader(m.currentLeader)); }
  if (!(isPlainResponsesPartitionsSnapshotId(m.snapshotId))) { tags++; n += taggedSize(2, sizeResponsesPartitionsSnapshotId(m.snapshotId)); }
  n += varintSize(tags);
  return n;
}
function writeResponsesPartitions(w, m) {
  w.int32(m.partitionIndex);
  w.int16(m.errorCode);
  w.int64(m.highWatermark);
  w.int64(m.lastStableOffset === undefined ? -1 : m.lastStableOffset);
  w.int64(m.logStartOffset === undefined ? -1 : m.logStartOffset);
  const $abortedTransactions = m.abortedTransactions;
  writeResponsesPartitionsAbortedTransactionsArray(w, $abortedTransactions);
  w.int32(m.preferredReadReplica === undefined ? -1 : m.preferredReadReplica);
  const $records = m.records;
  w.compactRecords($records);
  let tags = 0;
  if (!(isPlainResponsesPartitionsDivergingEpoch(m.divergingEpoch))) tags++;
  if (!(isPlainResponsesPartitionsCurrentLeader(m.currentLeader))) tags++;
  if (!(isPlainResponsesPartitionsSnapshotId(m.snapshotId))) tags++;
  w.unsignedVarint(tags);
  if (!(isPlainResponsesPartitionsDivergingEpoch(m.divergingEpoch))) { w.unsignedVarint(0); w.unsignedVarint(sizeResponsesPartitionsDivergingEpoch(m.divergingEpoch)); writeResponsesPartitionsDivergingEpoch(w, m.divergingEpoch); }
  if (!(isPlainResponsesPartitionsCurrentLeader(m.currentLeader))) { w.unsignedVarint(1); w.unsignedVarint(sizeResponsesPartitionsCurrentLeader(m.currentLeader)); writeResponsesPartitionsCurrentLeader(w, m.currentLeader); }
  if (!(isPlainResponsesPartitionsSnapshotId(m.snapshotId))) { w.unsignedVarint(2); w.unsignedVarint(sizeResponsesPartitionsSnapshotId(m.snapshotId)); writeResponsesPartitionsSnapshotId(w, m.snapshotId); }
}
function sizeResponsesPartitionsArray(a) {
  if (a === null) return 1;
  let n = varintSize(a.length + 1);
  for (let i = 0; i < a.length; i++) n += sizeResponsesPartitions(a[i]);
  return n;
}
function writeResponsesPartitionsArray(w, a) {
  if (a === null) return w.unsignedVarint(0);
  w.unsignedVarint(a.length + 1);
  for (let i = 0; i < a.length; i++) writeResponsesPartitions(w, a[i]);
}
function sizeResponses(m) {
  let n = 16;
  const $partitions = m.partitions;
  n += sizeResponsesPartitionsArray($partitions);
  n += 1;
  return n;
}
function writeResponses(w, m) {
  w.uuid(m.topicId);
  const $partitions = m.partitions;
  writeResponsesPartitionsArray(w, $partitions);
  w.unsignedVarint(0);
}
function sizeResponsesArray(a) {
  if (a === null) return 1;
  let n = varintSize(a.length + 1);
  for (let i = 0; i < a.length; i++) n += sizeResponses(a[i]);
  return n;
}
function writeResponsesArray(w, a) {
  if (a === null) return w.unsignedVarint(0);
  w.unsignedVarint(a.length + 1);
  for (let i = 0; i < a.length; i++) writeResponses(w, a[i]);
}
function sizeNodeEndpoints(m) {
  let n = 8;
  const $host = m.host;
  n += compactStringSize($host);
  const $rack = m.rack === undefined ? null : m.rack;
  n += compactStringSize($rack);
  n += 1;
  return n;
}
function writeNodeEndpoints(w, m) {
  w.int32(m.nodeId);
  const $host = m.host;
  w.compactString($host);
  w.int32(m.port);
  const $rack = m.rack === undefined ? null : m.rack;
  w.compactNullableString($rack);
  w.unsignedVarint(0);
}
function sizeNodeEndpointsArray(a) {
  if (a === null) return 1;
  let n = varintSize(a.length + 1);
  for (let i = 0; i < a.length; i++) n += sizeNodeEndpoints(a[i]);
  return n;
}
function writeNodeEndpointsArray(w, a) {
  if (a === null) return w.unsignedVarint(0);
  w.unsignedVarint(a.length + 1);
  for (let i = 0; i < a.length; i++) writeNodeEndpoints(w, a[i]);
}
function size(m) {
  let n = 10;
  const $responses = m.responses;
  n += sizeResponsesArray($responses);
  let tags = 0;
  if (!((m.nodeEndpoints === undefined || (m.nodeEndpoints !== null && m.nodeEndpoints.length === 0)))) { tags++; n += taggedSize(0, sizeNodeEndpointsArray(m.nodeEndpoints)); }
  n += varintSize(tags);
  return n;
}
function write(w, m) {
  w.int32(m.throttleTimeMs);
  w.int16(m.errorCode);
  w.int32(m.sessionId === undefined ? 0 : m.sessionId);
  const $responses = m.responses;
  writeResponsesArray(w, $responses);
  let tags = 0;
  if (!((m.nodeEndpoints === undefined || (m.nodeEndpoints !== null && m.nodeEndpoints.length === 0)))) tags++;
  w.unsignedVarint(tags);
  if (!((m.nodeEndpoints === undefined || (m.nodeEndpoints !== null && m.nodeEndpoints.length === 0)))) { w.unsignedVarint(0); w.unsignedVarint(sizeNodeEndpointsArray(m.nodeEndpoints)); writeNodeEndpointsArray(w, m.nodeEndpoints); }
}
return { size, write };
//# sourceURL=FetchResponse.v17.encode.js
