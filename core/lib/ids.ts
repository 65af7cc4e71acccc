/**
 * Numbers that are never used again: owners, tickets, file ids, outgoing connections. A crash forgets them, together
 * with everything that they named.
 */

/** Where the next numbers of one node come from; shared by all its machines, plain data. */
export interface Ids {
  owner: number;
  ticket: number;
  file: number;
  connection: number;
}

/** Fresh counters for one life of one node. */
export function createIds(): Ids {
  return { owner: 0, ticket: 0, file: 0, connection: 0 };
}

/** The next owner: names one machine inside the node. */
export function nextOwner(ids: Ids): number {
  ids.owner += 1;
  return ids.owner;
}

/** The next ticket: names one question to the world. Unique in the whole node. */
export function nextTicket(ids: Ids): number {
  ids.ticket += 1;
  return ids.ticket;
}

/** The next file id. */
export function nextFile(ids: Ids): number {
  ids.file += 1;
  return ids.file;
}

/** The next outgoing connection: -1, -2, … */
export function nextConnection(ids: Ids): number {
  ids.connection -= 1;
  return ids.connection;
}
