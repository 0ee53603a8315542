import type { Duplex } from 'node:stream';
import { SandboxFailure } from '../errors.js';
import { type ContainerPlan, containerSettings } from './container-settings.js';
import { type Engine, removeContainer } from './engine.js';
import { explainEngine, statusOf } from './engine-advice.js';
import type { Exit } from './engine-events.js';
import { Keeper } from './keeper.js';
import { OutputFrames } from './output-frames.js';

/** How the engine is to start a process (Docker Engine API, "Create an exec instance"). */
export interface ProcessSettings {
  Cmd: string[];
  User: string;
  Env?: string[];
  WorkingDir?: string;
  AttachStdin?: boolean;
}

/** A process that runs in a container. */
export interface ContainerProcess {
  output: OutputFrames;
  /** Its input, where it takes one. */
  input: Duplex;
  exit: Promise<Exit>;
}

/** A container that lasts as long as this object holds its keeper's input open, and not longer than this process. */
export class SandboxContainer {
  private killed: Promise<void> | undefined;

  private constructor(
    private readonly engine: Engine,
    private readonly id: string,
    readonly keeper: Keeper,
  ) {}

  /** @throws SandboxFailure */
  static async open(engine: Engine, plan: ContainerPlan): Promise<SandboxContainer> {
    const { api } = engine;
    let id: string | undefined;
    try {
      const body = containerSettings(engine, plan);
      id = (await api.call<{ Id: string }>('POST', '/containers/create', { body })).Id;
      const query = { stream: true, stdin: true, stdout: true, stderr: true };
      const keeper = await api.connect(`/containers/${id}/attach`, { query });
      const opened = new SandboxContainer(engine, id, new Keeper(keeper, new OutputFrames(keeper)));
      await api.call('POST', `/containers/${id}/start`);
      return opened;
    } catch (error) {
      if (id) await removeContainer(api, id);
      throw explainEngine(error, engine.options);
    }
  }

  /** Starts a process beside the keeper. */
  async start(command: ProcessSettings): Promise<ContainerProcess> {
    const { api, events } = this.engine;
    try {
      const body = { ...command, AttachStdout: true, AttachStderr: true, Tty: false };
      const exec = await api.call<{ Id: string }>('POST', `/containers/${this.id}/exec`, { body });
      const exit = events.exitOf(exec.Id, this.id);
      exit.catch(() => undefined); // the caller that asks gets it; it must not be an unhandled rejection before
      const input = await api.connect(`/exec/${exec.Id}/start`, { body: { Detach: false, Tty: false } });
      input.on('error', () => undefined); // a process need not read its input to the end
      return { output: new OutputFrames(input), input, exit };
    } catch (error) {
      throw explainEngine(error, this.engine.options);
    }
  }

  /** Runs a command that is sent word by; that it came too late shows in what it was to do. */
  async tell(argv: string[], user: string): Promise<void> {
    try {
      const { output, exit } = await this.start({ Cmd: argv, User: user });
      for (const stream of [output.stdout, output.stderr]) stream.resume();
      await exit;
    } catch (error) {
      if (!(error instanceof SandboxFailure)) throw error;
    }
  }

  /** Whether a process here was killed for memory. */
  async ranOutOfMemory(): Promise<boolean> {
    const { memoryKills } = await this.keeper.counts();
    return memoryKills > 0 || this.engine.events.ranOutOfMemory(this.id);
  }

  /** Ends all that runs here, at once. */
  kill(): Promise<void> {
    this.killed ??= this.end();
    return this.killed;
  }

  private async end(): Promise<void> {
    try {
      await this.engine.api.call('POST', `/containers/${this.id}/kill`, { query: { signal: 'SIGKILL' } });
    } catch (error) {
      // Without an answer the engine is gone, which events report. Else the container has ended by itself, or
      // removing it is the stronger word.
      const status = statusOf(error);
      if (status !== undefined && ![404, 409].includes(status))
        await removeContainer(this.engine.api, this.id);
    } finally {
      this.keeper.release();
      this.engine.events.forget(this.id);
    }
  }
}
