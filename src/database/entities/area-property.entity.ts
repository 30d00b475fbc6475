import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Which property of which area returns which list. */
@Entity('area_property')
export class AreaProperty {
  @PrimaryColumn({ type: 'text' })
  area: string;

  @PrimaryColumn({ type: 'text' })
  property: string;

  @Column({ type: 'int' })
  position: number;

  @Column({ name: 'code_list', type: 'text' })
  codeList: string;
}
