// Whose seats are whose. Nothing here touches the page.

/** @typedef {import('./protocol.js').Participant} Participant */
/** @typedef {{agentId: string, agents: string[]|null, scopes: string[]}} Me */

/**
 * seatsOf gives the seats of a conversation that the caller may speak as. Those of agents and tools stand last: who takes one speaks in the place of a program.
 * @param {Participant[]} participants
 * @param {Me} me
 * @returns {{id: string, program: boolean}[]}
 */
export function seatsOf(participants, me) {
  const mine = participants.filter((p) => me.agents === null || me.agents.includes(p.id) || me.agentId === p.id);
  const seats = mine.map((p) => ({ id: p.id, program: p.kind === 'agent' || p.kind === 'tool' }));
  return [...seats.filter((s) => !s.program), ...seats.filter((s) => s.program)];
}

/**
 * firstSeat gives the seat to speak from when nobody has chosen one: one that may speak now, else the caller's own, else the first that is no program's.
 * @param {{id: string, program: boolean}[]} seats
 * @param {Me} me
 * @param {(id: string) => boolean} maySpeak
 */
export function firstSeat(seats, me, maySpeak) {
  const people = seats.filter((s) => !s.program);
  const now = people.find((s) => maySpeak(s.id));
  return (now ?? seats.find((s) => s.id === me.agentId) ?? people[0] ?? seats[0])?.id ?? '';
}

/**
 * actor gives the id as which the caller acts on a conversation otherwise than by speaking: its own where that has a seat or is an admin's, else a seat of a person.
 * @param {Participant[]} participants
 * @param {Me} me
 */
export function actor(participants, me) {
  if (me.scopes.includes('admin')) return me.agentId;
  const seats = seatsOf(participants, me);
  if (seats.some((s) => s.id === me.agentId)) return me.agentId;
  return seats[0]?.id ?? me.agentId;
}

/** takesHints reports whether a message may name who is next. @param {{kind: string}} policy */
export function takesHints(policy) {
  return policy.kind === 'addressed' || policy.kind === 'moderator';
}
