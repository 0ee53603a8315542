import { relative, sep } from 'node:path';
import type { MountSettings } from 'dockerode';
import type { DockerOptions } from './options.js';

interface Shown {
  from: string;
  to: string;
  readOnly: boolean;
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
    } as MountSettings;
  }
}
