import { createInterface } from 'node:readline';
import { isMailAddress } from '#libs/fields/index.js';
import type { ServiceParts } from './app.module.js';
import { EmailChangeService, PasswordsService } from './identity/auth/index.js';
import { CannotStart } from './platform/config/index.js';
import { problemOf } from './platform/errors/index.js';
import { createServer } from './server.js';

const MIN_PASSWORD = 8;
const MAX_PASSWORD = 256;

/** Commands of the operator. Access to the database is the permission; nothing else is asked for. */
export async function operate(
  parts: ServiceParts,
  [name, first = '', second = '']: readonly string[],
): Promise<void> {
  const password = name === 'set-password' ? await askPassword(first) : '';
  if (name === 'set-email' && !isMailAddress(second))
    throw new CannotStart(`${second} is no e-mail address.`);
  const app = await createServer(parts);
  try {
    if (name === 'set-password') {
      const ended = await app.get(PasswordsService, { strict: false }).setByOperator(first, password);
      say(`The password of ${first} is set; ${ended} of its sessions were ended.`);
    } else {
      await app.get(EmailChangeService, { strict: false }).moveByOperator(first, second);
      say(`${first} has the address ${second} from now on.`);
    }
  } catch (error) {
    const problem = problemOf(error);
    throw problem ? new CannotStart(`${problem.detail}.`) : error;
  } finally {
    await app.close();
  }
}

const say = (text: string) => process.stdout.write(`${text}\n`);

/** From the terminal, unseen, twice; else a line of standard input. */
async function askPassword(email: string): Promise<string> {
  const lines = new Lines();
  try {
    const password = await lines.next(`New password of ${email}: `);
    if (password.length < MIN_PASSWORD || password.length > MAX_PASSWORD)
      throw new CannotStart(`The password must have ${MIN_PASSWORD} to ${MAX_PASSWORD} characters.`);
    if (process.stdin.isTTY && (await lines.next('The same again: ')) !== password)
      throw new CannotStart('These are two different passwords; nothing was changed.');
    return password;
  } finally {
    lines.close();
  }
}

/** What is typed, without its echo. */
class Lines {
  private readonly reader = createInterface({
    input: process.stdin,
    // readline echoes to its output, and has none here.
    terminal: process.stdin.isTTY,
  });
  private readonly lines = this.reader[Symbol.asyncIterator]();

  async next(question: string): Promise<string> {
    if (process.stdin.isTTY) process.stderr.write(question);
    const { value, done } = await this.lines.next();
    if (process.stdin.isTTY) process.stderr.write('\n');
    if (done) throw new CannotStart('There is no password on standard input.');
    return String(value);
  }

  close(): void {
    this.reader.close();
  }
}
