/** One process of the service, which can be killed and started again on the same port. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '../lib.mjs';

export class Member {
  /** What it has said last. */
  output = '';

  static async start(role, environment, { started = () => {} } = {}) {
    const member = new Member();
    member.started = started;
    const port = await freePort();
    Object.assign(member, { role, url: `http://127.0.0.1:${port}` });
    member.environment = {
      HOST: '127.0.0.1',
      LOG_FORMAT: 'json',
      LOG_LEVEL: 'info',
      ...environment,
      PORT: `${port}`,
    };
    await member.spawn();
    return member;
  }

  /** Starts one, and kills it so many milliseconds later; whether it was up by then. */
  static async killedAfter(ms, role, environment) {
    const starting = Member.start(role, environment, {
      started: child => setTimeout(() => child.kill('SIGKILL'), ms),
    });
    return starting.then(
      member => member.exited.then(() => true),
      () => false,
    );
  }

  get pid() {
    return this.child.pid;
  }

  async endAndRestart(signal) {
    this.child.kill(signal);
    await this.exited;
    await this.spawn();
  }

  async stop() {
    this.child.kill('SIGTERM');
    await this.exited;
  }

  spawn() {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...this.environment };
    const child = spawn(process.execPath, ['dist/bundle/main.js'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env,
    });
    this.child = child;
    this.exited = once(child, 'exit');
    this.output = '';
    this.started(child);
    return new Promise((resolve, reject) => {
      child.stdout.on('data', chunk => {
        this.output = (this.output + chunk).slice(-20_000);
        if (/"msg":"(working|listening)"/.test(this.output)) resolve();
      });
      child.once('exit', () => reject(new Error(`it ended: ${this.output}`)));
    });
  }
}
