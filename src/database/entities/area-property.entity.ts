import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Which property of which area returns which list. */
@Entity('area_property')
export class AreaProperty {
  @PrimaryColumn('text') area: string;
  @PrimaryColumn('text') property: string;
  @Column('int') position: number;
  @Column('text', { name: 'code_list' }) codeList: string;
}
