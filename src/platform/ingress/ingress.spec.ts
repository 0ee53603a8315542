import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, OnModuleInit } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { Config } from '../config/index.js';
import { Ingress, type PublicHosts } from './ingress.js';

const config = Config.from({ PUBLIC_URL: 'https://work.example.com' });

/** Answers each request with its name. */
class Feature implements PublicHosts {
  readonly headers: Record<string, string>;

  constructor(
    readonly name: string,
    readonly hosts: string[],
    readonly paths: RegExp,
  ) {
    this.headers = { 'x-served-by': name };
  }

  answer(path: string, reply: FastifyReply): void {
    void reply.status(404).send(`${this.name} has no ${path}`);
  }

  answerElsewhere(_request: FastifyRequest, reply: FastifyReply): void {
    void reply.status(421).send(`only on ${this.hosts}`);
  }

  finish(reply: FastifyReply): void {
    void reply.header('x-finished-by', this.name);
  }
}

describe('the ingress', () => {
  let http: FastifyInstance;

  beforeEach(() => {
    const ingress = new Ingress(config);
    ingress.serve(new Feature('notes', ['notes.example.com', '[2001:db8::5]'], /^\/n\//));
    ingress.serve(new Feature('sites', ['*.sites.example.com'], /^\/$/));
    http = fastify();
    ingress.register(http);
    http.get('/n/:id', () => 'a note');
    http.get('/', () => 'a site');
    http.get('/api/thing', () => 'a thing');
  });
  afterEach(() => http.close());

  const ask = async (host: string, url: string) => {
    const { statusCode, body, headers } = await http.inject({ url, headers: { host } });
    return { status: statusCode, body, by: headers['x-served-by'], finished: headers['x-finished-by'] };
  };
  const NOTE = { status: 200, body: 'a note', by: 'notes', finished: 'notes' };

  it.each([
    ['as it is', 'notes.example.com'],
    ['with a port', 'notes.example.com:8443'],
    ['in upper case', 'NOTES.Example.COM'],
    ['with a final dot', 'notes.example.com.:80'],
    ['as an IPv6 address', '[2001:db8::5]'],
    ['as an IPv6 address with a port', '[2001:DB8::5]:3000'],
  ])('serves a feature on its host %s', async (_how, host) => {
    expect(await ask(host, '/n/1')).toEqual(NOTE);
  });

  it.each(['/api/thing', '/%61pi/thing', 'http://work.example.com/api/thing', '/nowhere', '/N/1'])(
    'reaches nothing of the API on the host of a feature: %s',
    async url => {
      const { status, body } = await ask('notes.example.com', url);
      expect(status).toBe(404);
      expect(body).toContain('notes has no ');
    },
  );

  it.each(['/n/1', '/%6e/1', 'http://notes.example.com/n/1', '/n/not/a/route'])(
    'serves nothing of a feature on the host of the API: %s',
    async url => {
      const { status, by, finished } = await ask('work.example.com', url);
      expect({ status, by, finished }).toEqual({ status: 421, by: undefined, finished: undefined });
    },
  );

  it.each([
    'unknown.example.com',
    'notes.example.com.evil.example',
    'evil-notes.example.com',
    '[::1]:80',
    '',
  ])('takes a host of nobody for the API: %s', async host => {
    expect(await ask(host, '/api/thing')).toMatchObject({ status: 200, body: 'a thing' });
    expect(await ask(host, '/n/1')).toMatchObject({ status: 421, by: undefined });
  });

  it('serves all names one label below a wildcard, and no others', async () => {
    expect(await ask('docs.sites.example.com', '/')).toMatchObject({ status: 200, by: 'sites' });
    for (const host of ['sites.example.com', 'a.b.sites.example.com'])
      expect(await ask(host, '/')).toMatchObject({ status: 421, by: undefined });
  });
});

describe('at boot', () => {
  const boot = (...hosts: string[]) => {
    const features = hosts.map((host, index) => {
      @Injectable()
      class Claim implements OnModuleInit {
        constructor(private readonly ingress: Ingress) {}

        onModuleInit(): void {
          this.ingress.serve(new Feature(`feature ${index + 1}`, [host], /^\/x\//));
        }
      }
      return Claim;
    });
    @Module({ providers: [{ provide: Config, useValue: config }, Ingress, ...features] })
    class App {}
    return NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  };

  it('two features cannot claim one host', async () => {
    await expect(boot('a.example.com', 'a.example.com')).rejects.toThrow(
      'The host a.example.com of feature 2 belongs to feature 1',
    );
    await (await boot('a.example.com', '*.example.com')).close();
  });

  it('no feature can claim the host of the API', async () => {
    await expect(boot('work.example.com')).rejects.toThrow(
      'The host work.example.com of feature 1 belongs to the API',
    );
  });
});
