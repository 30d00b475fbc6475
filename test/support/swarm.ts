import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './postgres-server.js';
import { PROJECT, shell } from './program.js';
import { until } from './service.js';
import type { SwarmNodes } from './swarm-nodes.js';

const NAME = 'order-lookup-faults';
const FILES = '-c deploy/swarm/stack.yml -c deploy/swarm/development.yml';
const CLIENT = 'development-only-client:development-only-secret';
const PATIENCE = { timeoutMs: 300_000, everyMs: 500 };

/** The stack of deploy/swarm with its development overlay, on the swarm that this machine is. Its images are built first. */
export class Swarm {
  private secrets = 0;

  private constructor(
    private readonly environment: Record<string, string>,
    private readonly address: string,
  ) {}

  /** @param nodes a swarm other than that of this machine's engine, which builds the images for it */
  static async prepare(nodes?: SwarmNodes): Promise<Swarm> {
    const environment = {
      DOCKER_HOST: nodes?.engineOf(1) ?? '',
      DOCKER_BUILDKIT: '0',
      API_IMAGE: process.env['API_IMAGE'] ?? 'order-lookup-services:faults',
      ISSUER_IMAGE: 'order-lookup-issuer:faults',
      BALANCER_IMAGE: 'order-lookup-nginx:faults',
      PORT: String(await freePort()),
      ISSUER_PORT: String(await freePort()),
      OWNER_SECRET: `${NAME}-owner`,
    };
    const swarm = new Swarm(environment, nodes?.addressOf(1) ?? '127.0.0.1');
    const state = await swarm.docker(`info --format '{{.Swarm.LocalNodeState}}'`);
    if (state !== 'active')
      throw new Error('Docker is not in swarm mode: docker swarm init --advertise-addr 127.0.0.1');
    // API_IMAGE: an image that is there already, with order-lookup-issuer:faults beside it
    if (!process.env['API_IMAGE']) {
      await swarm.build(`--target service --tag ${environment.API_IMAGE} .`);
      await swarm.build(`--target issuer --tag ${environment.ISSUER_IMAGE} .`);
    }
    await swarm.build(`--tag ${environment.BALANCER_IMAGE} deploy/nginx`);
    const images = [environment.API_IMAGE, environment.BALANCER_IMAGE];
    const ofManager = [environment.ISSUER_IMAGE, 'postgres:17-bookworm'];
    for (const node of nodes?.all ?? [])
      await swarm.run(
        `docker save ${[...images, ...(node === 1 ? ofManager : [])].join(' ')} | docker -H ${nodes?.engineOf(node)} load`,
        { DOCKER_HOST: '' },
      );
    await swarm.remove();
    await swarm.createSecret(`${NAME}-owner`, 'order_lookup_owner', 'development-only-owner');
    await swarm.readAs('development-only-service');
    return swarm;
  }

  get url(): string {
    return `http://${this.address}:${this.environment['PORT']}`;
  }

  /** @throws Error with what docker printed where it did not succeed */
  async docker(command: string): Promise<string> {
    return this.run(`docker ${command}`);
  }

  /** The stack as its files have it now, with the secret that was made last. */
  deploy(): Promise<string> {
    return this.docker(`stack deploy --resolve-image never ${FILES} ${NAME}`);
  }

  /** Makes the secret with which the replicas are deployed from now on. */
  async readAs(password: string): Promise<void> {
    const name = `${NAME}-reader-${++this.secrets}`;
    await this.createSecret(name, 'order_lookup_service', password);
    this.environment['DATABASE_SECRET'] = name;
  }

  asOwner(command: string, image?: string): Promise<string> {
    return this.run(
      `deploy/swarm/as-owner.sh ${NAME} ${command}`,
      image === undefined ? {} : { API_IMAGE: image },
    );
  }

  service(name: string): string {
    return `${NAME}_${name}`;
  }

  /** Ids of the containers of a service that run now. */
  async containers(service: string): Promise<string[]> {
    const filter = `label=com.docker.swarm.service.name=${this.service(service)}`;
    return (await this.docker(`ps --quiet --filter ${filter}`)).split('\n').filter(Boolean);
  }

  async sql(statement: string): Promise<void> {
    const [db] = await this.containers('db');
    await this.docker(`exec ${db} psql -q -U postgres -d order_lookup -c "${statement}"`);
  }

  /** An image that is the service's with more instructions of a Dockerfile, and with files that these copy. */
  async derive(
    tag: string,
    instructions: string,
    files: Record<string, string> = {},
  ): Promise<string> {
    const image = `order-lookup-services:faults-${tag}`;
    const folder = mkdtempSync(join(tmpdir(), 'image-'));
    const all = {
      ...files,
      Dockerfile: `FROM ${this.environment['API_IMAGE']}\n${instructions}\n`,
    };
    for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text);
    await this.build(`--tag ${image} ${folder}`);
    rmSync(folder, { recursive: true });
    return image;
  }

  /** Resolves when as many replicas as are wanted answer their health checks, and no update is under way. */
  async settled(): Promise<void> {
    const api = this.service('api');
    await until(async () => {
      const update = await this.docker(
        `service inspect --format '{{if .UpdateStatus}}{{.UpdateStatus.State}}{{end}}' ${api}`,
      );
      const counts = await this.docker(`service ls --format '{{.Replicas}}' --filter name=${api}`);
      return !/ing$|started$/.test(update) && /^(\d+)\/\1$/.test(counts);
    }, PATIENCE);
  }

  /** Resolves when so many nodes are lost, and as many replicas as are wanted run on the others. */
  async lacks(nodes: number): Promise<void> {
    await until(async () => {
      const states = (await this.docker(`node ls --format '{{.Status}}'`)).split('\n');
      return states.filter((state) => state === 'Down').length === nodes;
    }, PATIENCE);
    await this.settled();
  }

  async token(): Promise<string> {
    const url = `http://${this.address}:${this.environment['ISSUER_PORT']}/token`;
    const headers = { Authorization: `Basic ${Buffer.from(CLIENT).toString('base64')}` };
    const body = new URLSearchParams({ grant_type: 'client_credentials' });
    const signal = AbortSignal.timeout(3_000);
    const response = await fetch(url, { method: 'POST', headers, body, signal });
    return ((await response.json()) as { access_token: string }).access_token;
  }

  async remove(): Promise<void> {
    await this.run(`docker stack rm ${NAME} || true`);
    await until(
      async () => (await this.docker(`ps --quiet --filter name=${NAME}_`)) === '',
      PATIENCE,
    );
    const secrets = await this.docker(`secret ls --quiet --filter name=${NAME}-`);
    if (secrets) await this.docker(`secret rm ${secrets.replaceAll('\n', ' ')}`);
    await until(
      async () => (await this.docker(`network ls --quiet --filter name=${NAME}_`)) === '',
      PATIENCE,
    );
    // Docker removes the ended containers, which hold the volume, a little later
    const volume = `volume rm --force ${NAME}_db-data ${NAME}_last-good`;
    await until(() => this.docker(volume).then(() => true), PATIENCE);
  }

  private build(words: string): Promise<string> {
    return this.run(`docker build --quiet ${words}`, { DOCKER_HOST: '' });
  }

  private createSecret(name: string, role: string, password: string): Promise<string> {
    return this.run(
      `printf %s 'postgres://${role}:${password}@db:5432/order_lookup' | docker secret create ${name} -`,
    );
  }

  private async run(command: string, more: Record<string, string> = {}): Promise<string> {
    const { status, stdout, stderr } = await shell(command, PROJECT, {
      ...this.environment,
      ...more,
    });
    if (status !== 0) throw new Error(`${command}: status ${status}: ${stdout}${stderr}`);
    return stdout.trim();
  }
}
