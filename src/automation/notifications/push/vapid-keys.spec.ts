import { describe, expect, it } from '@jest/globals';
import { Config } from '../../../platform/config/index.js';
import { VapidKeys } from './vapid-keys.js';

const subjectOf = (environment: Record<string, string>) =>
  new VapidKeys(Config.from(environment), undefined as never, undefined as never, undefined as never).subject;

describe('who sends, as push services are told', () => {
  it.each([
    [{}, undefined],
    [{ PUBLIC_URL: 'https://atelier.example.com' }, 'https://atelier.example.com'],
    [{ PUBLIC_URL: 'http://atelier.example.com' }, undefined],
    [{ PUBLIC_URL: 'https://atelier.local', MAIL_FROM: 'a@b.example.com' }, 'mailto:a@b.example.com'],
    [{ PUBLIC_URL: 'https://10.0.0.1' }, undefined],
    [{ MAIL_FROM: 'Atelier <post@example.com>' }, 'mailto:post@example.com'],
    [{ MAIL_FROM: 'Atelier <post@localhost>' }, undefined],
  ])('%j', (environment, subject) => {
    expect(subjectOf(environment as Record<string, string>)).toBe(subject);
  });
});
