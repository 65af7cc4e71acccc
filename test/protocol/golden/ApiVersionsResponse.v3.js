'use strict';
function readApiKeys(r) {
  const $apiKey = r.int16();
  const $minVersion = r.int16();
  const $maxVersion = r.int16();
  r.skipTags();
  return { apiKey: $apiKey, minVersion: $minVersion, maxVersion: $maxVersion };
}
function readSupportedFeatures(r) {
  const $name = r.compactString();
  const $minVersion = r.int16();
  const $maxVersion = r.int16();
  r.skipTags();
  return { name: $name, minVersion: $minVersion, maxVersion: $maxVersion };
}
function readFinalizedFeatures(r) {
  const $name = r.compactString();
  const $maxVersionLevel = r.int16();
  const $minVersionLevel = r.int16();
  r.skipTags();
  return { name: $name, maxVersionLevel: $maxVersionLevel, minVersionLevel: $minVersionLevel };
}
function read(r) {
  const $errorCode = r.int16();
  const apiKeysLength = r.compactArrayLength(7);
  if (apiKeysLength < 0) fail('apiKeys');
  const $apiKeys = [];
  for (let i = 0; i < apiKeysLength; i++) $apiKeys.push(readApiKeys(r));
  const $throttleTimeMs = r.int32();
  let $supportedFeatures = [];
  let $finalizedFeaturesEpoch = -1;
  let $finalizedFeatures = [];
  let $zkMigrationReady = false;
  for (let left = r.tagCount(); left > 0; left--) {
    const tag = r.unsignedVarint();
    const size = r.unsignedVarint();
    const start = r.position;
    switch (tag) {
      case 0: {
        const supportedFeaturesLength = r.compactArrayLength(6);
        if (supportedFeaturesLength < 0) fail('supportedFeatures');
        $supportedFeatures = [];
        for (let i = 0; i < supportedFeaturesLength; i++) $supportedFeatures.push(readSupportedFeatures(r));
        if (r.position - start !== size) fail('supportedFeatures');
        break;
      }
      case 1: {
        $finalizedFeaturesEpoch = r.int64();
        if (r.position - start !== size) fail('finalizedFeaturesEpoch');
        break;
      }
      case 2: {
        const finalizedFeaturesLength = r.compactArrayLength(6);
        if (finalizedFeaturesLength < 0) fail('finalizedFeatures');
        $finalizedFeatures = [];
        for (let i = 0; i < finalizedFeaturesLength; i++) $finalizedFeatures.push(readFinalizedFeatures(r));
        if (r.position - start !== size) fail('finalizedFeatures');
        break;
      }
      case 3: {
        $zkMigrationReady = r.boolean();
        if (r.position - start !== size) fail('zkMigrationReady');
        break;
      }
      default: r.skip(size);
    }
  }
  return { errorCode: $errorCode, apiKeys: $apiKeys, throttleTimeMs: $throttleTimeMs, supportedFeatures: $supportedFeatures, finalizedFeaturesEpoch: $finalizedFeaturesEpoch, finalizedFeatures: $finalizedFeatures, zkMigrationReady: $zkMigrationReady };
}
return read;
//# sourceURL=ApiVersionsResponse.v3.decode.js

'use strict';
function sizeApiKeys(m) {
  let n = 6;
  n += 1;
  return n;
}
function writeApiKeys(w, m) {
  w.int16(m.apiKey);
  w.int16(m.minVersion);
  w.int16(m.maxVersion);
  w.unsignedVarint(0);
}
function sizeApiKeysArray(a) {
  if (a === null) return 1;
  let n = varintSize(a.length + 1);
  for (let i = 0; i < a.length; i++) n += sizeApiKeys(a[i]);
  return n;
}
function writeApiKeysArray(w, a) {
  if (a === null) return w.unsignedVarint(0);
  w.unsignedVarint(a.length + 1);
  for (let i = 0; i < a.length; i++) writeApiKeys(w, a[i]);
}
function sizeSupportedFeatures(m) {
  let n = 4;
  const $name = m.name;
  n += compactStringSize($name);
  n += 1;
  return n;
}
function writeSupportedFeatures(w, m) {
  const $name = m.name;
  w.compactString($name);
  w.int16(m.minVersion);
  w.int16(m.maxVersion);
  w.unsignedVarint(0);
}
function sizeSupportedFeaturesArray(a) {
  if (a === null) return 1;
  let n = varintSize(a.length + 1);
  for (let i = 0; i < a.length; i++) n += sizeSupportedFeatures(a[i]);
  return n;
}
function writeSupportedFeaturesArray(w, a) {
  if (a === null) return w.unsignedVarint(0);
  w.unsignedVarint(a.length + 1);
  for (let i = 0; i < a.length; i++) writeSupportedFeatures(w, a[i]);
}
function sizeFinalizedFeatures(m) {
  let n = 4;
  const $name = m.name;
  n += compactStringSize($name);
  n += 1;
  return n;
}
function writeFinalizedFeatures(w, m) {
  const $name = m.name;
  w.compactString($name);
  w.int16(m.maxVersionLevel);
  w.int16(m.minVersionLevel);
  w.unsignedVarint(0);
}
function sizeFinalizedFeaturesArray(a) {
  if (a === null) return 1;
  let n = varintSize(a.length + 1);
  for (let i = 0; i < a.length; i++) n += sizeFinalizedFeatures(a[i]);
  return n;
}
function writeFinalizedFeaturesArray(w, a) {
  if (a === null) return w.unsignedVarint(0);
  w.unsignedVarint(a.length + 1);
  for (let i = 0; i < a.length; i++) writeFinalizedFeatures(w, a[i]);
}
function size(m) {
  let n = 6;
  const $apiKeys = m.apiKeys;
  n += sizeApiKeysArray($apiKeys);
  let tags = 0;
  if (!((m.supportedFeatures === undefined || (m.supportedFeatures !== null && m.supportedFeatures.length === 0)))) { tags++; n += taggedSize(0, sizeSupportedFeaturesArray(m.supportedFeatures)); }
  if (!((m.finalizedFeaturesEpoch === undefined || m.finalizedFeaturesEpoch === -1))) { tags++; n += taggedSize(1, 8); }
  if (!((m.finalizedFeatures === undefined || (m.finalizedFeatures !== null && m.finalizedFeatures.length === 0)))) { tags++; n += taggedSize(2, sizeFinalizedFeaturesArray(m.finalizedFeatures)); }
  if (!((m.zkMigrationReady === undefined || m.zkMigrationReady === false))) { tags++; n += taggedSize(3, 1); }
  n += varintSize(tags);
  return n;
}
function write(w, m) {
  w.int16(m.errorCode);
  const $apiKeys = m.apiKeys;
  writeApiKeysArray(w, $apiKeys);
  w.int32(m.throttleTimeMs);
  let tags = 0;
  if (!((m.supportedFeatures === undefined || (m.supportedFeatures !== null && m.supportedFeatures.length === 0)))) tags++;
  if (!((m.finalizedFeaturesEpoch === undefined || m.finalizedFeaturesEpoch === -1))) tags++;
  if (!((m.finalizedFeatures === undefined || (m.finalizedFeatures !== null && m.finalizedFeatures.length === 0)))) tags++;
  if (!((m.zkMigrationReady === undefined || m.zkMigrationReady === false))) tags++;
  w.unsignedVarint(tags);
  if (!((m.supportedFeatures === undefined || (m.supportedFeatures !== null && m.supportedFeatures.length === 0)))) { w.unsignedVarint(0); w.unsignedVarint(sizeSupportedFeaturesArray(m.supportedFeatures)); writeSupportedFeaturesArray(w, m.supportedFeatures); }
  if (!((m.finalizedFeaturesEpoch === undefined || m.finalizedFeaturesEpoch === -1))) { w.unsignedVarint(1); w.unsignedVarint(8); w.int64(m.finalizedFeaturesEpoch); }
  if (!((m.finalizedFeatures === undefined || (m.finalizedFeatures !== null && m.finalizedFeatures.length === 0)))) { w.unsignedVarint(2); w.unsignedVarint(sizeFinalizedFeaturesArray(m.finalizedFeatures)); writeFinalizedFeaturesArray(w, m.finalizedFeatures); }
  if (!((m.zkMigrationReady === undefined || m.zkMigrationReady === false))) { w.unsignedVarint(3); w.unsignedVarint(1); w.boolean(m.zkMigrationReady); }
}
return { size, write };
//# sourceURL=ApiVersionsResponse.v3.encode.js
