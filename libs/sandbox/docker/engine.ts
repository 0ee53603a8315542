import type Docker from 'dockerode';
import type { ImageInspectInfo } from 'dockerode';
import { SandboxFailure } from '../errors.js';
import { DEFAULT_SOCKET, explainEngine, statusOf } from './engine-advice.js';
import { EngineEvents } from './engine-events.js';
import { Mounts } from './mounts.js';
import type { DockerOptions } from './options.js';
import { isGone, SERVICE_LABEL, thisService } from './service-label.js';

/** What is found out about the engine, or set up on it, once for all commands. */
export interface Engine {
  docker: Docker;
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
  // Loaded by services that need it: it takes longer than all else that a start does here.
  const { default: Engine } = await import('dockerode');
  const docker = new Engine({ socketPath: options.socketPath ?? DEFAULT_SOCKET });
  try {
    const security = ((await docker.info()) as { SecurityOptions?: string[] }).SecurityOptions ?? [];
    await checkImage(docker, options.image);
    const service = thisService();
    await removeOrphans(docker);
    const events = await EngineEvents.follow(docker, `${SERVICE_LABEL}=${service}`, onLost);
    return {
      ...{ docker, options, events, service, mounts: new Mounts(options) },
      isRootless: security.some(one => one.startsWith('name=rootless')),
      remapsUsers: security.some(one => one.startsWith('name=userns')),
    };
  } catch (error) {
    throw explainEngine(error, options);
  }
}

async function checkImage(docker: Docker, image: string): Promise<void> {
  const { Config } = (await docker.getImage(image).inspect()) as ImageInspectInfo & {
    Config: { Volumes?: Record<string, unknown> };
  };
  if (Object.keys(Config.Volumes ?? {}).length === 0) return;
  throw new SandboxFailure(
    `The image ${image} declares volumes, in which commands could write without limit: use one that does not`,
  );
}

/** What a service left that was killed before it could start or remove a container. */
async function removeOrphans(docker: Docker): Promise<void> {
  const labelled = await docker.listContainers({ all: true, filters: { label: [SERVICE_LABEL] } });
  const orphans = labelled.filter(({ Labels }) => isGone(Labels[SERVICE_LABEL] ?? ''));
  for (const { Id } of orphans) await removeContainer(docker, Id);
}

/** Kills it where it runs; harmless where it is gone, or just being removed. */
export async function removeContainer(docker: Docker, id: string): Promise<void> {
  try {
    await docker.getContainer(id).remove({ force: true, v: true });
  } catch (error) {
    if (![404, 409].includes(statusOf(error) ?? 0)) throw error;
  }
}
