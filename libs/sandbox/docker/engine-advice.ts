import { SandboxFailure, SandboxRefusal } from '../errors.js';
import type { DockerOptions } from './options.js';

export const DEFAULT_SOCKET = '/var/run/docker.sock';

/** HTTP status with which the engine refused; undefined if it was not reached. */
export function statusOf(error: unknown): number | undefined {
  return (error as { statusCode?: number }).statusCode;
}

/** What it means that the engine refused or did not answer. */
export function explainEngine(error: unknown, { image, socketPath, runtime }: DockerOptions): unknown {
  if (error instanceof SandboxFailure || error instanceof SandboxRefusal) return error;
  const said = saidBy(error);
  const failure = (message: string) => new SandboxFailure(message, { cause: error });
  const at = socketPath ?? DEFAULT_SOCKET;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EACCES')
    return failure(`This user may not use the Docker engine at ${at}: add it to the group of that socket`);
  if (['ENOENT', 'ECONNREFUSED', 'ENOTSOCK', 'ECONNRESET', 'EPIPE'].includes(code ?? ''))
    return failure(
      `The Docker engine cannot be reached at ${at} (${code}): start it, or say where it listens`,
    );
  if (statusOf(error) === 404 && /no such image/i.test(said))
    return failure(`The image ${image} is not there: build it or run "docker pull ${image}"`);
  if (
    /bind source path does not exist|subpath|no such file or directory.*mount|mount.*no such file/i.test(said)
  )
    return failure(`The Docker engine does not see the folder that it should show (${said})`);
  if (runtime && /runtime/i.test(said)) return failure(`The runtime ${runtime} does not work here (${said})`);
  return statusOf(error) === undefined ? error : failure(`Docker could not make a sandbox: ${said}`);
}

function saidBy(error: unknown): string {
  const { message = '' } = error as { message?: string };
  return message.trim();
}
