import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const EXECUTABLE = '/usr/bin/chromium';

/** Nothing but what the test opens: no updates, no look-ups, no sandbox, which root cannot have. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts the system's Chromium; a test that needs it fails without it rather than being passed over. */
export async function launchChromium(): Promise<Browser> {
  if (!existsSync(EXECUTABLE))
    throw new Error(`Browser tests need ${EXECUTABLE}: install it with "apt-get install chromium"`);
  return chromium.launch({ executablePath: EXECUTABLE, headless: true, args: FLAGS });
}
