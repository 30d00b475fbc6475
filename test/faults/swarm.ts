import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/postgres-server.js';
import { PROJECT, shell } from '../support/program.js';
import { until } from '../support/service.js';

const NAME = 'order-lookup-faults';
const FILES = '-c deploy/swarm/stack.yml -c deploy/swarm/development.yml';
const CLIENT = 'development-only-client:development-only-secret';
const PATIENCE = { timeoutMs: 300_000, everyMs: 500 };

/** The stack of deploy/swarm with its development overlay, on the swarm that this machine is. Its images are built first. */
export class Swarm {
  private secrets = 0;

  private constructor(private readonly environment: Record<string, string>) {}

  static async prepare(): Promise<Swarm> {
    const environment = {
      DOCKER_BUILDKIT: '0',
      API_IMAGE: 'order-lookup-services:faults',
      ISSUER_IMAGE: 'order-lookup-issuer:faults',
      BALANCER_IMAGE: 'order-lookup-nginx:faults',
      PORT: String(await freePort()),
      ISSUER_PORT: String(await freePort()),
      OWNER_SECRET: `${NAME}-owner`,
    };
    const swarm = new Swarm(environment);
    const state = await swarm.docker(`info --format '{{.Swarm.LocalNodeState}}'`);
    if (state !== 'active')
      throw new Error('Docker is not in swarm mode: docker swarm init --advertise-addr 127.0.0.1');
    await swarm.docker(`build -q --target service --tag ${environment.API_IMAGE} .`);
    await swarm.docker(`build -q --target issuer --tag ${environment.ISSUER_IMAGE} .`);
    await swarm.docker(`build -q --tag ${environment.BALANCER_IMAGE} deploy/nginx`);
    await swarm.remove();
    await swarm.createSecret(`${NAME}-owner`, 'order_lookup_owner', 'development-only-owner');
    await swarm.readAs('development-only-service');
    return swarm;
  }

  get url(): string {
    return `http://127.0.0.1:${this.environment['PORT']}`;
  }

  /** @throws Error with what docker printed where it did not succeed */
  docker(command: string): Promise<string> {
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
    const more: Record<string, string> = image === undefined ? {} : { API_IMAGE: image };
    return this.run(`deploy/swarm/as-owner.sh ${NAME} ${command}`, more);
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

  /** An image that is the service's with one more instruction of a Dockerfile, and a file that this copies. */
  async derive(tag: string, instruction: string, name = 'empty', text = ''): Promise<string> {
    const image = `order-lookup-services:faults-${tag}`;
    const folder = mkdtempSync(join(tmpdir(), 'image-'));
    writeFileSync(join(folder, name), text);
    writeFileSync(
      join(folder, 'Dockerfile'),
      `FROM ${this.environment['API_IMAGE']}\n${instruction}\n`,
    );
    await this.docker(`build -q --tag ${image} ${folder}`);
    rmSync(folder, { recursive: true });
    return image;
  }

  /** Resolves when as many replicas as are wanted answer their health checks, and no update is under way. */
  async settled(): Promise<void> {
    const api = this.service('api');
    const state = `service inspect --format '{{if .UpdateStatus}}{{.UpdateStatus.State}}{{end}}' ${api}`;
    await until(async () => {
      const counts = await this.docker(`service ls --format '{{.Replicas}}' --filter name=${api}`);
      return !/ing$|started$/.test(await this.docker(state)) && /^(\d+)\/\1$/.test(counts);
    }, PATIENCE);
  }

  async token(): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${this.environment['ISSUER_PORT']}/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${btoa(CLIENT)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
      signal: AbortSignal.timeout(3_000),
    });
    return ((await response.json()) as { access_token: string }).access_token;
  }

  async remove(): Promise<void> {
    const gone = (list: string): Promise<void> =>
      until(
        async () => (await this.docker(`${list} --quiet --filter name=${NAME}_`)) === '',
        PATIENCE,
      );
    await this.run(`docker stack rm ${NAME} || true`);
    await gone('ps');
    const secrets = await this.docker(`secret ls --quiet --filter name=${NAME}-`);
    if (secrets) await this.docker(`secret rm ${secrets.replaceAll('\n', ' ')}`);
    await gone('network ls');
    // Docker removes the ended containers, which hold the volumes, a little later
    const volumes = `volume rm --force ${NAME}_db-data ${NAME}_last-good`;
    await until(() => this.docker(volumes).then(() => true), PATIENCE);
  }

  private createSecret(name: string, role: string, password: string): Promise<string> {
    return this.run(
      `printf %s 'postgres://${role}:${password}@db:5432/order_lookup' | docker secret create ${name} -`,
    );
  }

  private async run(command: string, more: Record<string, string> = {}): Promise<string> {
    const environment = { ...this.environment, ...more };
    const { status, stdout, stderr } = await shell(command, PROJECT, environment);
    if (status !== 0) throw new Error(`${command}: status ${status}: ${stdout}${stderr}`);
    return stdout.trim();
  }
}
