/** Shorter ones would be found in almost any text. */
const MIN_LENGTH = 8;

/** The forms in which a server may send a secret back: as it is, in JSON, in a URL, in base64. */
export class SecretForms {
  private readonly forms: readonly Buffer[];

  constructor(secrets: readonly string[]) {
    const forms = secrets
      .filter(secret => secret.length >= MIN_LENGTH)
      .flatMap(secret => [
        secret,
        JSON.stringify(secret).slice(1, -1),
        encodeURIComponent(secret.toWellFormed()),
        Buffer.from(secret).toString('base64').replace(/=+$/, ''),
      ]);
    this.forms = [...new Set(forms)].map(form => Buffer.from(form));
  }

  isIn(bytes: Buffer): boolean {
    return this.forms.some(form => bytes.includes(form));
  }

  /** How many bytes at the end may be the beginning of a form. */
  begunAt(bytes: Buffer): number {
    let longest = 0;
    for (const form of this.forms) {
      for (let length = Math.min(form.length - 1, bytes.length); length > longest; length--) {
        if (bytes[bytes.length - length] !== form[0]) continue;
        if (bytes.subarray(bytes.length - length).equals(form.subarray(0, length))) longest = length;
      }
    }
    return longest;
  }
}
