// A plain Nest service on Express that answers from a snapshot in memory, with the same two checks: what the front of ours is worth beside it.
import 'reflect-metadata';
import { createHash } from 'node:crypto';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Request } from 'express';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { Client } from 'pg';

const { DATABASE_URL = '', OAUTH_ISSUER = '', OAUTH_AUDIENCE, PORT } = process.env;
const jwks = createRemoteJWKSet(new URL(`${OAUTH_ISSUER}/jwks`));
const client = new Client({ connectionString: DATABASE_URL });
await client.connect();
const { rows: keys } = await client.query<{ hash: string }>(
  `select encode(key_hash, 'hex') as hash from api_key where revoked_at is null`,
);
const { rows } = await client.query<{ property: string; values: string[] }>(
  `select property, array(select value from code_list_value v where v.code_list = p.code_list order by position) as values
   from area_property p where area = 'order-update' order by position`,
);
await client.end();
const known = new Set(keys.map(({ hash }) => hash));
const snapshot = Object.fromEntries(rows.map(({ property, values }) => [property, values]));
/** Until when a token that was verified is good, in seconds. */
const verified = new Map<string, number>();

@Injectable()
class CredentialsGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { headers } = context.switchToHttp().getRequest<Request>();
    const key = createHash('sha256').update(String(headers['api-key'])).digest('hex');
    if (!known.has(key)) throw new UnauthorizedException();
    const token = String(headers.authorization).replace(/^Bearer /i, '');
    if ((verified.get(token) ?? 0) > Date.now() / 1000) return true;
    try {
      const { payload } = await jwtVerify(token, jwks, {
        issuer: OAUTH_ISSUER,
        audience: OAUTH_AUDIENCE,
      });
      verified.set(token, payload.exp ?? 0);
    } catch {
      throw new UnauthorizedException();
    }
    return true;
  }
}

@Controller('orders-update-api/supported-values')
@UseGuards(CredentialsGuard)
class OrderUpdateController {
  @Get()
  read(): Record<string, string[]> {
    return snapshot;
  }
}

@Module({ controllers: [OrderUpdateController] })
class PlainModule {}

const app = await NestFactory.create(PlainModule, { logger: false });
await app.listen(Number(PORT), '127.0.0.1');
