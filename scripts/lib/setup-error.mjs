/** A set-up step that failed: one sentence that says what to do, and the output that shows why. */
export class SetupError extends Error {
  constructor(message, output = '') {
    super(message);
    this.name = 'SetupError';
    this.output = output;
  }

  print() {
    const lines = this.output.trimEnd().split('\n').slice(-60).join('\n');
    if (lines) process.stderr.write(`\n${lines}\n`);
    process.stderr.write(`\n${this.message}\n`);
  }
}
