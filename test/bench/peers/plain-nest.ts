// A plain Nest service on Express: repositories asked and the token verified on each request, everything else as Nest comes.
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
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import type { Request } from 'express';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { IsNull, Repository } from 'typeorm';
import { ApiKey } from '../../../src/database/entities/api-key.entity.js';
import { AreaProperty } from '../../../src/database/entities/area-property.entity.js';
import { CodeListValue } from '../../../src/database/entities/code-list-value.entity.js';

const { DATABASE_URL = '', OAUTH_ISSUER = '', OAUTH_AUDIENCE, PORT } = process.env;
const jwks = createRemoteJWKSet(new URL(`${OAUTH_ISSUER}/jwks`));

@Injectable()
class CredentialsGuard implements CanActivate {
  constructor(@InjectRepository(ApiKey) private readonly keys: Repository<ApiKey>) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { headers } = context.switchToHttp().getRequest<Request>();
    const keyHash = createHash('sha256').update(String(headers['api-key'])).digest();
    const key = await this.keys.findOneBy({ keyHash, revokedAt: IsNull() });
    if (!key) throw new UnauthorizedException();
    try {
      await jwtVerify(String(headers.authorization).replace(/^Bearer /i, ''), jwks, {
        issuer: OAUTH_ISSUER,
        audience: OAUTH_AUDIENCE,
      });
    } catch {
      throw new UnauthorizedException();
    }
    return true;
  }
}

@Controller('orders-update-api/supported-values')
@UseGuards(CredentialsGuard)
class OrderUpdateController {
  constructor(
    @InjectRepository(AreaProperty) private readonly properties: Repository<AreaProperty>,
    @InjectRepository(CodeListValue) private readonly values: Repository<CodeListValue>,
  ) {}

  @Get()
  async read(): Promise<Record<string, string[]>> {
    const [properties, values] = await Promise.all([
      this.properties.find({ where: { area: 'order-update' }, order: { position: 'ASC' } }),
      this.values.find({ order: { position: 'ASC' } }),
    ]);
    return Object.fromEntries(
      properties.map(({ property, codeList }) => [
        property,
        values.filter((value) => value.codeList === codeList).map(({ value }) => value),
      ]),
    );
  }
}

const entities = [ApiKey, AreaProperty, CodeListValue];

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: DATABASE_URL, entities, poolSize: 10 }),
    TypeOrmModule.forFeature(entities),
  ],
  controllers: [OrderUpdateController],
})
class PlainModule {}

const app = await NestFactory.create(PlainModule, { logger: false });
await app.listen(Number(PORT), '127.0.0.1');
