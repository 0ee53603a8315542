import { settings } from './settings.js';

/** The text of `.env.example`: every setting, its meaning and its default, all commented out. */
export function envExample(): string {
  const head = '# Settings of Atelier. Every one is optional; copy to .env and uncomment what you change.\n';
  const blocks = Object.values(settings).map(
    ({ name, description, shown }) => `# ${description}\n# ${name}=${shown ?? ''}\n`,
  );
  return [head, ...blocks].join('\n');
}
