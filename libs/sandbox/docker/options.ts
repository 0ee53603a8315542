import type { ReadOnlyBind } from '../sandbox.js';

/** How containers are made, and how the engine sees what they are shown. */
export interface DockerOptions {
  /** Image with `sh` and what commands need; it must be there already. */
  image: string;
  /** Socket of the engine; default `/var/run/docker.sock`. */
  socketPath?: string;
  /** OCI runtime, e.g. `runsc` for gVisor; default: the engine's. */
  runtime?: string;
  /**
   * For a service that runs in a container itself and keeps its data in a volume: the volume's name, and where the
   * service has it. What lies below is named to the engine as a part of the volume (Docker 26 or later).
   */
  volume?: { name: string; mountedAt: string };
  /** Folder for the driver's own short-lived files; the engine must see it by the same path or in the volume. */
  scratchFolder: string;
  readOnlyBinds?: ReadOnlyBind[];
}
