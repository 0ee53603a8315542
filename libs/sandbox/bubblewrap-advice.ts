import path from 'node:path';
import { closedFolder, openingOf } from './closed-folder.js';
import { SandboxFailure, SandboxRefusal } from './errors.js';

export const installBubblewrap =
  'bubblewrap is not installed: run "apt-get install bubblewrap" (Debian, Ubuntu), ' +
  '"dnf install bubblewrap" (Fedora, RHEL) or "apk add bubblewrap" (Alpine)';

const noNamespaces =
  'This host does not let bubblewrap make user namespaces: as root run "sysctl -w ' +
  'kernel.unprivileged_userns_clone=1" (older Debian) or "sysctl -w ' +
  'kernel.apparmor_restrict_unprivileged_userns=0" (Ubuntu 24.04), or start the container with ' +
  '"--security-opt seccomp=unconfined --security-opt apparmor=unconfined"';

const noProc =
  'The container that the service runs in hides parts of /proc, so no new one can be mounted: start it ' +
  'with "--security-opt systempaths=unconfined"';

/** What bwrap says when it cannot build a sandbox, and what that means for the host. */
const known: [RegExp, string][] = [
  [/No permissions to creat|setting up uid map|kernel does not support user namespaces/, noNamespaces],
  [/Creating new namespace failed: Operation not permitted|Failed to make \/ slave/, noNamespaces],
  [/loopback: Failed/, noNamespaces],
  [/mount proc/, noProc],
  [
    /max_\*_namespaces|No space left/,
    'The host allows too few namespaces: raise user.max_user_namespaces with sysctl',
  ],
  [/Unknown option/, 'This bubblewrap is too old: version 0.8.0 or later is needed'],
];

/** What it means that bwrap ended without having started the command; `output` is what it said. */
export function explainBubblewrap(output: string, workspace: string): SandboxFailure | SandboxRefusal {
  const said = /^bwrap: (.*)$/m.exec(output)?.[1] ?? output.trim();
  if (/^Can't chdir to/.test(said)) return new SandboxRefusal('The folder to start in does not exist');
  if (said.includes(workspace) && /^Can't (find source path|bind mount)/.test(said)) {
    // The folder itself is the owner's; those around it are not.
    const closed = closedFolder(path.dirname(workspace));
    const advice = closed === undefined ? '' : `: ${openingOf(closed)}`;
    return new SandboxFailure(
      `The owner of the command cannot reach the workspace folder${advice} (bwrap: ${said})`,
    );
  }
  const advice = known.find(([pattern]) => pattern.test(said))?.[1];
  return new SandboxFailure(
    advice ? `${advice} (bwrap: ${said})` : `bubblewrap could not make a sandbox: ${said}`,
  );
}

/** The exit code a shell would give for a program that could not be started; undefined if that is not the cause. */
export function codeOfUnstartable(output: string): number | undefined {
  const reason = /^bwrap: execvp .*: ([^:\n]*)$/m.exec(output)?.[1];
  if (reason === undefined) return undefined;
  return reason === 'No such file or directory' ? 127 : 126;
}
