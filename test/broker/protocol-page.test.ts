/** The page of the documentation that lists the APIs is what the tables of the code say: `vitest -u` writes it anew. */
import { expect, test } from 'vitest';
import { servedApis } from '../../core/broker/api/table.ts';
import type { AnyApi } from '../../core/protocol/api.ts';
import { APIS } from '../../core/protocol/messages/index.ts';

const HEAD = `# Protocol

Made from the tables of the code (\`core/broker/api\`); a test holds it against them. The versions are those that Apache
Kafka 4.4 advertises; what is served is served in every one of them. Brokers answer through their listeners for clients,
controllers through theirs, as in Apache Kafka. What is not served is not advertised.

| key | API | versions | brokers | controllers |
|---|---|---|---|---|
`;
const FOOT = `
## Not served

`;

function page(): string {
  const [ofBrokers, ofControllers] = [false, true].map((isOfController) => {
    return new Set(servedApis(isOfController).map(({ api }) => api.key));
  }) as [Set<number>, Set<number>];
  const isServed = ({ key }: AnyApi): boolean => ofBrokers.has(key) || ofControllers.has(key);
  const apis: readonly AnyApi[] = APIS;
  const rows = apis.filter(isServed).map(({ key, name, advertised }) => {
    const marks = [ofBrokers, ofControllers].map((keys) => (keys.has(key) ? 'yes' : ''));
    return `| ${key} | ${name} | ${advertised.since}–${advertised.until} | ${marks.join(' | ')} |\n`;
  });
  const others = apis.filter((api) => !isServed(api)).map(({ name }) => name);
  return `${HEAD}${rows.join('')}${FOOT}${others.join(', ')}.\n`;
}

test('the page is what the tables say', async () => {
  await expect(page()).toMatchFileSnapshot('../../docs/protocol-coverage.md');
});
