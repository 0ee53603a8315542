import { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import { SandboxFailure } from '../errors.js';
import type { EngineApi } from './engine-api.js';

/** What the engine reports of one container. */
interface EngineEvent {
  Action: string;
  Actor: { ID: string; Attributes: Record<string, string> };
}

/** What became of a process: its exit code, or null when its container ended under it. */
export type Exit = number | null;

/** Follows what happens to the containers of one label, over one connection. */
export class EngineEvents {
  private readonly emitter = new EventEmitter().setMaxListeners(0);
  private readonly outOfMemory = new Set<string>();
  private text = '';
  /** The connection is over, and with it all knowledge of what goes on. */
  private lost = false;

  private constructor(
    private readonly source: Readable,
    private readonly onLost: () => void,
  ) {
    source.setEncoding('utf8').on('data', (part: string) => this.take(part));
    for (const event of ['end', 'close', 'error']) source.once(event, () => this.lose());
  }

  /** @param onLost called once, when the engine has closed the connection */
  static async follow(api: EngineApi, label: string, onLost: () => void): Promise<EngineEvents> {
    const filters = { type: ['container'], label: [label], event: ['exec_die', 'die', 'oom'] };
    const source = await api.stream('/events', { filters });
    source.socket.unref(); // to follow events is no reason for the service to go on living
    return new EngineEvents(source, onLost);
  }

  /** Resolves when a process that was started in a container has ended; to be called before it is started. */
  exitOf(exec: string, container: string): Promise<Exit> {
    return new Promise((resolve, reject) => {
      const names = [`exec ${exec}`, `container ${container}`, 'lost'];
      const settle = (exit?: Exit): void => {
        for (const name of names) this.emitter.off(name, settle);
        if (exit === undefined) reject(new SandboxFailure('The Docker engine stopped while the command ran'));
        else resolve(exit);
      };
      if (this.lost) return settle();
      for (const name of names) this.emitter.on(name, settle);
    });
  }

  /** Whether the engine has reported that a process of the container was killed for memory. */
  ranOutOfMemory(container: string): boolean {
    return this.outOfMemory.has(container);
  }

  /** The container is over and will not be asked about again. */
  forget(container: string): void {
    this.outOfMemory.delete(container);
  }

  close(): void {
    this.source.destroy();
  }

  private take(part: string): void {
    const lines = (this.text + part).split('\n');
    this.text = lines.pop() ?? '';
    for (const line of lines) if (line !== '') this.tell(JSON.parse(line) as EngineEvent);
  }

  private tell({ Action, Actor }: EngineEvent): void {
    const { execID, exitCode } = Actor.Attributes;
    if (Action === 'oom') this.outOfMemory.add(Actor.ID);
    else if (Action === 'die') this.emitter.emit(`container ${Actor.ID}`, null);
    else this.emitter.emit(`exec ${execID}`, Number(exitCode));
  }

  private lose(): void {
    if (this.lost) return;
    this.lost = true;
    this.emitter.emit('lost');
    this.onLost();
  }
}
