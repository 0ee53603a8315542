import type { Duplex } from 'node:stream';
import type { Container, ExecCreateOptions } from 'dockerode';
import { SandboxFailure } from '../errors.js';
import { type ContainerPlan, containerSettings } from './container-settings.js';
import { type Engine, removeContainer } from './engine.js';
import { explainEngine, statusOf } from './engine-advice.js';
import type { Exit } from './engine-events.js';
import { Keeper } from './keeper.js';
import { OutputFrames } from './output-frames.js';

/** A process that runs in a container. */
export interface ContainerProcess {
  output: OutputFrames;
  /** Its input; ended already where it takes none. */
  input: Duplex;
  exit: Promise<Exit>;
}

/** A container that lasts as long as this object holds its keeper's input open, and not longer than this process. */
export class SandboxContainer {
  private killed: Promise<void> | undefined;

  private constructor(
    private readonly engine: Engine,
    private readonly container: Container,
    readonly keeper: Keeper,
  ) {}

  /** @throws SandboxFailure */
  static async open(engine: Engine, plan: ContainerPlan): Promise<SandboxContainer> {
    let container: Container | undefined;
    try {
      container = await engine.docker.createContainer(containerSettings(engine, plan));
      const keeper = (await container.attach({
        ...{ stream: true, stdin: true, stdout: true, stderr: true, hijack: true },
      })) as Duplex;
      const opened = new SandboxContainer(engine, container, new Keeper(keeper, new OutputFrames(keeper)));
      await container.start();
      return opened;
    } catch (error) {
      if (container) await removeContainer(engine.docker, container.id);
      throw explainEngine(error, engine.options);
    }
  }

  /** Starts a process beside the keeper. */
  async start(command: ExecCreateOptions): Promise<ContainerProcess> {
    const takesInput = command.AttachStdin === true;
    try {
      const exec = await this.container.exec({
        ...command,
        AttachStdout: true,
        AttachStderr: true,
        Tty: false,
      });
      const exit = this.engine.events.exitOf(exec.id, this.container.id);
      exit.catch(() => undefined); // the caller that asks gets it; it must not be an unhandled rejection before
      const input = await exec.start({ hijack: true, stdin: takesInput });
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
    return memoryKills > 0 || this.engine.events.ranOutOfMemory(this.container.id);
  }

  /** Ends all that runs here, at once. */
  kill(): Promise<void> {
    this.killed ??= this.end();
    return this.killed;
  }

  private async end(): Promise<void> {
    try {
      await this.container.kill({ signal: 'SIGKILL' });
    } catch (error) {
      // Without an answer the engine is gone, which events report. Else the container has ended by itself, or
      // removing it is the stronger word.
      const status = statusOf(error);
      if (status !== undefined && ![404, 409].includes(status))
        await removeContainer(this.engine.docker, this.container.id);
    } finally {
      this.keeper.release();
      this.engine.events.forget(this.container.id);
    }
  }
}
