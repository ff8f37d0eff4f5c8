// What the hub says when it refuses.

/**
 * A refusal. `code` is that of the wire, 0 where there is none; `reason` is its name, such as not_your_turn; `data` is all that the hub has said with it.
 */
export class HubError extends Error {
  /**
   * @param {number} code
   * @param {string} reason
   * @param {string} message
   * @param {any} [data]
   */
  constructor(code, reason, message, data) {
    super(message);
    this.name = 'HubError';
    this.code = code;
    this.reason = reason;
    this.data = data ?? {};
  }

  /** What the hub has answered with. @param {{code: number, message: string, data?: any}} error */
  static of(error) {
    return new HubError(error.code, error.data?.reason ?? 'internal', error.message, error.data);
  }
}

/** What is said to who was signed in, and is no more. */
export const sessionOver = 'The session is over: its token has ended, or was revoked. Sign in again.';
