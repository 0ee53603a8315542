import { SandboxFailure } from '../errors.js';
import { isGone, thisService } from '../service-process.js';
import { DEFAULT_SOCKET, explainEngine, statusOf } from './engine-advice.js';
import { EngineApi } from './engine-api.js';
import { EngineEvents } from './engine-events.js';
import { Mounts } from './mounts.js';
import type { DockerOptions } from './options.js';
import { SERVICE_LABEL } from './service-label.js';

/** What is found out about the engine, or set up on it, once for all commands. */
export interface Engine {
  api: EngineApi;
  options: DockerOptions;
  events: EngineEvents;
  mounts: Mounts;
  /** Value of the label that this process' containers carry. */
  service: string;
  /** The engine runs as an ordinary user, who is root inside its containers. */
  isRootless: boolean;
  /** The engine gives containers other user ids unless told not to. */
  remapsUsers: boolean;
}

/**
 * @param onLost called when the engine has gone away: what was found out holds no more
 * @throws SandboxFailure if the engine cannot be reached or lacks something
 */
export async function prepareEngine(options: DockerOptions, onLost: () => void): Promise<Engine> {
  const api = new EngineApi(options.socketPath ?? DEFAULT_SOCKET);
  try {
    const { SecurityOptions: security = [] } = await api.call<{ SecurityOptions?: string[] }>('GET', '/info');
    await checkImage(api, options.image);
    const service = thisService();
    await removeOrphans(api);
    const events = await EngineEvents.follow(api, `${SERVICE_LABEL}=${service}`, onLost);
    return {
      api,
      options,
      events,
      service,
      mounts: new Mounts(options),
      isRootless: security.some(one => one.startsWith('name=rootless')),
      remapsUsers: security.some(one => one.startsWith('name=userns')),
    };
  } catch (error) {
    throw explainEngine(error, options);
  }
}

async function checkImage(api: EngineApi, image: string): Promise<void> {
  const { Config } = await api.call<{ Config: { Volumes?: Record<string, unknown> } }>(
    'GET',
    `/images/${image}/json`,
  );
  if (Object.keys(Config.Volumes ?? {}).length === 0) return;
  throw new SandboxFailure(
    `The image ${image} declares volumes, in which commands could write without limit: use one that does not`,
  );
}

/** A container, as far as it is asked about. */
interface Listed {
  Id: string;
  Labels: Record<string, string>;
}

/** What a service left that was killed before it could start or remove a container. */
async function removeOrphans(api: EngineApi): Promise<void> {
  const query = { all: true, filters: { label: [SERVICE_LABEL] } };
  const labelled = await api.call<Listed[]>('GET', '/containers/json', { query });
  const orphans = labelled.filter(({ Labels }) => isGone(Labels[SERVICE_LABEL] ?? ''));
  for (const { Id } of orphans) await removeContainer(api, Id);
}

/** Kills it where it runs; harmless where it is gone, or just being removed. */
export async function removeContainer(api: EngineApi, id: string): Promise<void> {
  try {
    await api.call('DELETE', `/containers/${id}`, { query: { force: true, v: true } });
  } catch (error) {
    if (![404, 409].includes(statusOf(error) ?? 0)) throw error;
  }
}
