import { BerthPool } from './berth-pool.js';
import { installBubblewrap } from './bubblewrap-advice.js';
import { ControlGroups } from './control-groups.js';
import { InheritedDescriptors } from './descriptors.js';
import { SandboxFailure } from './errors.js';
import { LastWill } from './last-will.js';
import { PipePool } from './pipes.js';
import { Profile } from './profile.js';
import { findProgram } from './programs.js';
import type { SandboxOptions } from './sandbox.js';
import { hasSeccompFilter, seccompFilter } from './seccomp.js';

/** What is found out about the host, or made, once, for all commands. */
export interface BubblewrapHost {
  bwrap: string;
  mkfifo: string;
  profile: Profile;
  groups: ControlGroups;
  berths: BerthPool;
  filter: Buffer;
  lastWill: LastWill;
}

/** @throws SandboxFailure if the host lacks something */
export async function prepareHost(options: SandboxOptions): Promise<BubblewrapHost> {
  if (process.platform !== 'linux' || !hasSeccompFilter(process.arch)) {
    throw new SandboxFailure(
      'bubblewrap needs Linux on x64 or arm64: run the service there, or in a virtual machine',
    );
  }
  const bwrap = findProgram('bwrap', options.programFolders);
  const mkfifo = findProgram('mkfifo', options.programFolders);
  if (!bwrap) throw new SandboxFailure(installBubblewrap);
  if (!mkfifo) throw new SandboxFailure('mkfifo is missing: install the package coreutils');
  const profile = new Profile(options.readOnlyBinds ?? []);
  const groups = await ControlGroups.detect();
  const parts = {
    pipes: new PipePool(mkfifo),
    groups,
    inherited: new InheritedDescriptors(),
  };
  const berths = new BerthPool({ ...parts, openFiles: () => profile.openFiles() });
  const filter = seccompFilter(process.arch, { refuseUncountedMemory: !groups.counts('memory') });
  return { bwrap, mkfifo, profile, groups, berths, filter, lastWill: new LastWill() };
}
