import { didYouMean } from '#libs/did-you-mean/index.js';
import { settings } from './settings.js';

/** Shorter names are too close to common variables that mean something else: HOME and HOST, PATH and PORT. */
const SHORT_NAME = 7;

/** The variables of `environment` that look like a mistyped setting: name → the setting that was probably meant. */
export function mistypedSettings(environment: NodeJS.ProcessEnv): Map<string, string> {
  const names = Object.values(settings).map(({ name }) => name);
  const known = new Set<string>(names);
  const mistyped = new Map<string, string>();
  for (const [name, value] of Object.entries(environment)) {
    if (known.has(name) || value === undefined || name.length < 4) continue;
    const meant = didYouMean(name, names, name.length > SHORT_NAME ? 2 : 1);
    // A setting that is given too was spelt right: the other variable is for another program.
    if (meant && environment[meant] === undefined) mistyped.set(name, meant);
  }
  return mistyped;
}
