'use strict';
function readTopicDataPartitionData(r) {
  const $index = r.int32();
  const $records = r.compactNullableBytes();
  r.skipTags();
  return { index: $index, records: $records };
}
function readTopicData(r) {
  const $name = r.compactString();
  const $topicId = "AAAAAAAAAAAAAAAAAAAAAA";
  const partitionDataLength = r.compactArrayLength(6);
  if (partitionDataLength < 0) fail('partitionData');
  const $partitionData = [];
  for (let i = 0; i < partitionDataLength; i++) $partitionData.push(readTopicDataPartitionData(r));
  r.skipTags();
  return { name: $name, topicId: $topicId, partitionData: $partitionData };
}
function read(r) {
  const $transactionalId = r.compactNullableString();
  const $acks = r.int16();
  const $timeoutMs = r.int32();
  const topicDataLength = r.compactArrayLength(3);
  if (topicDataLength < 0) fail('topicData');
  const $topicData = [];
  for (let i = 0; i < topicDataLength; i++) $topicData.push(readTopicData(r));
  r.skipTags();
  return { transactionalId: $transactionalId, acks: $acks, timeoutMs: $timeoutMs, topicData: $topicData };
}
return read;
//# sourceURL=ProduceRequest.v9.decode.js

'use strict';
function sizeTopicDataPartitionData(m) {
  let n = 4;
  const $records = m.records;
  n += compactCutSize($records);
  n += 1;
  return n;
}
function writeTopicDataPartitionData(w, m) {
  w.int32(m.index);
  const $records = m.records;
  w.compactRecords($records);
  w.unsignedVarint(0);
}
function sizeTopicDataPartitionDataArray(a) {
  if (a === null) return 1;
  let n = varintSize(a.length + 1);
  for (let i = 0; i < a.length; i++) n += sizeTopicDataPartitionData(a[i]);
  return n;
}
function writeTopicDataPartitionDataArray(w, a) {
  if (a === null) return w.unsignedVarint(0);
  w.unsignedVarint(a.length + 1);
  for (let i = 0; i < a.length; i++) writeTopicDataPartitionData(w, a[i]);
}
function sizeTopicData(m) {
  let n = 0;
  const $name = m.name;
  n += compactStringSize($name);
  const $partitionData = m.partitionData;
  n += sizeTopicDataPartitionDataArray($partitionData);
  n += 1;
  return n;
}
function writeTopicData(w, m) {
  const $name = m.name;
  w.compactString($name);
  const $partitionData = m.partitionData;
  writeTopicDataPartitionDataArray(w, $partitionData);
  w.unsignedVarint(0);
}
function sizeTopicDataArray(a) {
  if (a === null) return 1;
  let n = varintSize(a.length + 1);
  for (let i = 0; i < a.length; i++) n += sizeTopicData(a[i]);
  return n;
}
function writeTopicDataArray(w, a) {
  if (a === null) return w.unsignedVarint(0);
  w.unsignedVarint(a.length + 1);
  for (let i = 0; i < a.length; i++) writeTopicData(w, a[i]);
}
function size(m) {
  let n = 6;
  const $transactionalId = m.transactionalId === undefined ? null : m.transactionalId;
  n += compactStringSize($transactionalId);
  const $topicData = m.topicData;
  n += sizeTopicDataArray($topicData);
  n += 1;
  return n;
}
function write(w, m) {
  const $transactionalId = m.transactionalId === undefined ? null : m.transactionalId;
  w.compactNullableString($transactionalId);
  w.int16(m.acks);
  w.int32(m.timeoutMs);
  const $topicData = m.topicData;
  writeTopicDataArray(w, $topicData);
  w.unsignedVarint(0);
}
return { size, write };
//# sourceURL=ProduceRequest.v9.encode.js
