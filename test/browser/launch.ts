import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Person } from '../harness/service.js';

export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 375, height: 740 };
/** What people look at pages of ours with. */
export const SCREENS: [string, BrowserContextOptions][] = [
  ['desktop', { viewport: DESKTOP }],
  ['phone', { viewport: PHONE, isMobile: true, deviceScaleFactor: 2 }],
  ['without-javascript', { viewport: DESKTOP, javaScriptEnabled: false }],
  ['dark', { viewport: PHONE, colorScheme: 'dark' }],
];
const PICTURES = path.resolve('.cache/screenshots');

const CHROMIUM = '/usr/bin/chromium';
/** Draws and runs pages as Chromium does, for a third of the processor time; it has no viewer for PDFs. */
const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell';

/** Nothing but what the test opens: no updates, no look-ups, no sandbox, which root cannot have. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // The pages of a file's tests share a process, and need no graphics.
  '--renderer-process-limit=1',
  '--in-process-gpu',
  '--disable-software-rasterizer',
];

/** Starts the browser; a test that needs it fails without it rather than being passed over. */
export function launchChromium(): Promise<Browser> {
  return launch(existsSync(HEADLESS_SHELL) ? HEADLESS_SHELL : CHROMIUM);
}

/** Starts Chromium with all that people have in it. */
export const launchWholeChromium = (): Promise<Browser> => launch(CHROMIUM);

async function launch(executablePath: string): Promise<Browser> {
  if (!existsSync(executablePath))
    throw new Error(`Browser tests need ${executablePath}: install it with "apt-get install chromium"`);
  return chromium.launch({ executablePath, headless: true, args: FLAGS });
}

/**
 * Takes pictures for people to look at, of whole pages or what the screen shows, in files whose names begin with `of`; where
 * SCREENSHOTS is set, as they take long and prove nothing.
 */
export function picturesOf(of: string, whole = true) {
  return async (page: Page, name: string, fullPage = whole) => {
    if (!process.env.SCREENSHOTS) return;
    mkdirSync(PICTURES, { recursive: true });
    const options = { path: path.join(PICTURES, `${of}-${name}.png`), fullPage };
    // Chromium now and then cannot take a picture on a machine that does much else.
    await page.screenshot(options).catch(() => page.screenshot(options));
  };
}

/** Fills in the form of the sign-in page and sends it. */
export async function signIn(
  page: Page,
  { email, password }: Pick<Person, 'email' | 'password'>,
): Promise<void> {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Whether everything on a page is within the width of the screen. */
export const fitsWidth = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth');
