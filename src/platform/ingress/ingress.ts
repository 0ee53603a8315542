import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { targetOf } from '#libs/fastify-hardening/index.js';
import { Config } from '../config/index.js';

/** Hosts with content of users: it is served there and nowhere else, and nothing else is served there. */
export interface PublicHosts {
  /** What they serve; errors at boot say so. */
  readonly name: string;
  /** In lower case, without port; `*.example.com` stands for all names with one label before `example.com`. */
  readonly hosts: readonly string[];
  /** The paths of its routes. */
  readonly paths: RegExp;
  /** Headers of every answer on these hosts. */
  readonly headers: Readonly<Record<string, string>>;
  /** Answers a request on these hosts that is for none of its routes. */
  answer(path: string, reply: FastifyReply): void;
  /** Answers a request for one of its paths on any other host. */
  answerElsewhere(request: FastifyRequest, reply: FastifyReply): void;
  /** May add headers to an answer on these hosts once it is made. */
  finish?(reply: FastifyReply): void;
}

/** Host → what is served there. A feature with hosts of its own registers them in `onModuleInit`. All other hosts are the API's. */
@Injectable()
export class Ingress {
  private readonly served: PublicHosts[] = [];
  private readonly byHost = new Map<string, PublicHosts>();
  private readonly ownHost: string | undefined;

  constructor(config: Config) {
    this.ownHost = URL.parse(config.baseUrl)?.hostname;
  }

  /** Throws where another feature, or the API, has one of the hosts. */
  serve(feature: PublicHosts): void {
    for (const host of feature.hosts) {
      const other = host === this.ownHost ? 'the API' : this.byHost.get(host)?.name;
      if (other !== undefined) throw new Error(`The host ${host} of ${feature.name} belongs to ${other}`);
      this.byHost.set(host, feature);
    }
    this.served.push(feature);
  }

  /** Whether a host, in lower case, is the API's own or that of a feature. */
  has(host: string): boolean {
    return host === this.ownHost || this.at(host) !== undefined;
  }

  /** Stands before all routes, those of other frameworks included. */
  register(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, reply, done) => {
      const route = request.routeOptions.url ?? '';
      // However the address is spelt: escapes and absolute forms lead to the same route.
      const { path } = targetOf(request.url);
      const here = this.at(request.hostname);
      if (here) {
        void reply.headers(here.headers);
        return here.paths.test(route) ? done() : here.answer(path, reply);
      }
      const elsewhere = this.served.find(({ paths }) => paths.test(route) || paths.test(path));
      return elsewhere ? elsewhere.answerElsewhere(request, reply) : done();
    });
    fastify.addHook('onSend', (request, reply, payload, done) => {
      this.at(request.hostname)?.finish?.(reply);
      done(null, payload);
    });
  }

  private at(hostname: string): PublicHosts | undefined {
    // A final dot names the same host.
    const host = hostname.toLowerCase().replace(/\.$/, '');
    return this.byHost.get(host) ?? this.byHost.get(host.replace(/^[^.]*/, '*'));
  }
}
