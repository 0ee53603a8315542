/**
 * An opened secret. It has no text form: what logs, serializes or inspects it sees nothing. Reveal it only into the request
 * that needs it.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }
}
