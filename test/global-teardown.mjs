import { rmSync } from 'node:fs';

export default async function teardown() {
  const { folder, postgres } = globalThis.atelierTest;
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
