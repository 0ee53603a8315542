import type { AgentGround } from '../harness/agent.js';
import { ServiceProcess } from './service-process.js';

/** Further processes on the database and files of a test's service, which end with the test. */
export class Workers {
  private readonly running: ServiceProcess[] = [];

  constructor(private readonly ground: Pick<AgentGround, 'service' | 'environment'>) {}

  /** A worker, unless `more` says otherwise. */
  readonly start = async (more: Record<string, string> = {}): Promise<ServiceProcess> => {
    const { service, environment } = this.ground;
    const started = await ServiceProcess.start(service, { ...environment, ROLE: 'worker', ...more });
    this.running.push(started);
    return started;
  };

  /** The one worker that an earlier test left running, or a new one. */
  readonly single = async (): Promise<ServiceProcess> => {
    const [one, ...others] = this.running.filter(({ isRunning }) => isRunning);
    if (one && others.length === 0) return one;
    await this.stop();
    return this.start();
  };

  /** Ends them as crashes would. */
  async kill(): Promise<void> {
    await Promise.all(this.running.splice(0).map(one => one.kill()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.running.splice(0).map(one => one.stop()));
  }
}
