import type { SandboxLimits } from '../limits.js';
import type { ReadOnlyBind } from '../sandbox.js';
import type { Engine } from './engine.js';
import { keeperProgram } from './keeper.js';
import { seccompProfile } from './seccomp-profile.js';
import { SERVICE_LABEL } from './service-label.js';

export const WORKSPACE = '/workspace';
const SHARED_MEMORY_BYTES = 64 * 1024 * 1024;
/** What the container runs beside what commands do: its init, its keeper, and who starts the command. */
const OWN_PROCESSES = 3;
/** Another user than any command's, so that no command can touch the keeper. */
const KEEPER_USER = '65534:65534';

/** What one container shows, and how much it may use. */
export interface ContainerPlan {
  workspace: string;
  isReadOnly?: boolean;
  readOnlyBinds: ReadOnlyBind[];
  limits: Pick<SandboxLimits, 'memoryBytes' | 'processes' | 'tmpBytes'>;
}

/** How the engine is to make a container for hostile code (Docker Engine API, "Create a container"). */
export function containerSettings(engine: Engine, plan: ContainerPlan) {
  const { options, service } = engine;
  return {
    Image: options.image,
    Entrypoint: ['/bin/sh', '-c', keeperProgram],
    Cmd: [],
    User: KEEPER_USER,
    WorkingDir: '/',
    Hostname: 'sandbox',
    Labels: { [SERVICE_LABEL]: service },
    Healthcheck: { Test: ['NONE'] },
    // The keeper's input is ours alone, and ends with us.
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    Tty: false,
    HostConfig: { ...isolation(engine), ...bounds(plan), Mounts: mounts(engine, plan) },
  };
}

function isolation({ options, remapsUsers }: Engine) {
  return {
    AutoRemove: true,
    Init: true,
    NetworkMode: 'none',
    IpcMode: 'private',
    // Files in the workspace belong to a user of the host, whose number must mean the same inside.
    ...(remapsUsers ? { UsernsMode: 'host' } : {}),
    ...(options.runtime ? { Runtime: options.runtime } : {}),
    ReadonlyRootfs: true,
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges:true', `seccomp=${seccompProfile()}`],
    // Output goes to us; the engine keeps none.
    LogConfig: { Type: 'none', Config: {} },
  };
}

function bounds({ limits: { memoryBytes, processes, tmpBytes } }: ContainerPlan) {
  const size = Number.isFinite(tmpBytes) ? `,size=${tmpBytes}` : '';
  return {
    Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,mode=1777${size}` },
    ShmSize: SHARED_MEMORY_BYTES,
    ...(Number.isFinite(memoryBytes) ? { Memory: memoryBytes, MemorySwap: memoryBytes } : {}),
    ...(Number.isFinite(processes) ? { PidsLimit: processes + OWN_PROCESSES } : {}),
    Ulimits: [{ Name: 'msgqueue', Soft: 0, Hard: 0 }],
  };
}

function mounts(engine: Engine, { workspace, isReadOnly = false, readOnlyBinds }: ContainerPlan) {
  const shown = [...(engine.options.readOnlyBinds ?? []), ...readOnlyBinds];
  return [
    engine.mounts.of({ from: workspace, to: WORKSPACE, readOnly: isReadOnly }),
    ...shown.map(bind => engine.mounts.of({ ...bind, readOnly: true })),
  ];
}
