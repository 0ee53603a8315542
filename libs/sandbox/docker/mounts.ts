import { relative, sep } from 'node:path';
import type { DockerOptions } from './options.js';

interface Shown {
  from: string;
  to: string;
  readOnly: boolean;
}

/** What a container shows of a folder (Docker Engine API, `Mount`). */
interface MountSettings {
  Type: 'bind' | 'volume';
  Source: string;
  Target: string;
  ReadOnly: boolean;
  VolumeOptions?: { Subpath: string; NoCopy: boolean };
}

/** Names folders of the service to the engine, which may see them elsewhere. */
export class Mounts {
  constructor(private readonly options: Pick<DockerOptions, 'volume'>) {}

  of({ from, to, readOnly }: Shown): MountSettings {
    const { volume } = this.options;
    const below = volume && relative(volume.mountedAt, from);
    if (!volume || below === undefined || below === '..' || below.startsWith(`..${sep}`)) {
      // The engine may not make a folder that is missing: it would be root's.
      return { Type: 'bind', Source: from, Target: to, ReadOnly: readOnly };
    }
    const part = { Subpath: below, NoCopy: true };
    return {
      Type: 'volume',
      Source: volume.name,
      Target: to,
      ReadOnly: readOnly,
      VolumeOptions: part,
    };
  }
}
