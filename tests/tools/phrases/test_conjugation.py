"""Verb forms against tables written by hand: every tense, every person, every kind of irregularity."""

from __future__ import annotations

import pytest

from tools.phrases import english
from tools.phrases.conjugation import Person, SimpleTense, command, conjugate, gerund, participle, prohibition

# yo, tú, él, nosotros, ellos
PRESENT = """
hablar: hablo hablas habla hablamos hablan
comer: como comes come comemos comen
vivir: vivo vives vive vivimos viven
pensar: pienso piensas piensa pensamos piensan
empezar: empiezo empiezas empieza empezamos empiezan
cerrar: cierro cierras cierra cerramos cierran
entender: entiendo entiendes entiende entendemos entienden
querer: quiero quieres quiere queremos quieren
preferir: prefiero prefieres prefiere preferimos prefieren
poder: puedo puedes puede podemos pueden
volver: vuelvo vuelves vuelve volvemos vuelven
encontrar: encuentro encuentras encuentra encontramos encuentran
recordar: recuerdo recuerdas recuerda recordamos recuerdan
dormir: duermo duermes duerme dormimos duermen
jugar: juego juegas juega jugamos juegan
pedir: pido pides pide pedimos piden
vestir: visto vistes viste vestimos visten
enviar: envío envías envía enviamos envían
ser: soy eres es somos son
estar: estoy estás está estamos están
ir: voy vas va vamos van
haber: he has ha hemos han
tener: tengo tienes tiene tenemos tienen
venir: vengo vienes viene venimos vienen
hacer: hago haces hace hacemos hacen
decir: digo dices dice decimos dicen
poner: pongo pones pone ponemos ponen
salir: salgo sales sale salimos salen
traer: traigo traes trae traemos traen
ver: veo ves ve vemos ven
dar: doy das da damos dan
saber: sé sabes sabe sabemos saben
conocer: conozco conoces conoce conocemos conocen
conducir: conduzco conduces conduce conducimos conducen
leer: leo lees lee leemos leen
"""
PRETERITE = """
hablar: hablé hablaste habló hablamos hablaron
comer: comí comiste comió comimos comieron
vivir: viví viviste vivió vivimos vivieron
buscar: busqué buscaste buscó buscamos buscaron
tocar: toqué tocaste tocó tocamos tocaron
llegar: llegué llegaste llegó llegamos llegaron
jugar: jugué jugaste jugó jugamos jugaron
empezar: empecé empezaste empezó empezamos empezaron
almorzar: almorcé almorzaste almorzó almorzamos almorzaron
leer: leí leíste leyó leímos leyeron
creer: creí creíste creyó creímos creyeron
pensar: pensé pensaste pensó pensamos pensaron
volver: volví volviste volvió volvimos volvieron
pedir: pedí pediste pidió pedimos pidieron
vestir: vestí vestiste vistió vestimos vistieron
preferir: preferí preferiste prefirió preferimos prefirieron
dormir: dormí dormiste durmió dormimos durmieron
salir: salí saliste salió salimos salieron
conocer: conocí conociste conoció conocimos conocieron
ser: fui fuiste fue fuimos fueron
ir: fui fuiste fue fuimos fueron
dar: di diste dio dimos dieron
ver: vi viste vio vimos vieron
hacer: hice hiciste hizo hicimos hicieron
estar: estuve estuviste estuvo estuvimos estuvieron
tener: tuve tuviste tuvo tuvimos tuvieron
poder: pude pudiste pudo pudimos pudieron
poner: puse pusiste puso pusimos pusieron
saber: supe supiste supo supimos supieron
querer: quise quisiste quiso quisimos quisieron
venir: vine viniste vino vinimos vinieron
decir: dije dijiste dijo dijimos dijeron
traer: traje trajiste trajo trajimos trajeron
conducir: conduje condujiste condujo condujimos condujeron
"""
IMPERFECT = """
hablar: hablaba hablabas hablaba hablábamos hablaban
comer: comía comías comía comíamos comían
vivir: vivía vivías vivía vivíamos vivían
jugar: jugaba jugabas jugaba jugábamos jugaban
leer: leía leías leía leíamos leían
ser: era eras era éramos eran
ir: iba ibas iba íbamos iban
ver: veía veías veía veíamos veían
tener: tenía tenías tenía teníamos tenían
"""
FUTURE = """
hablar: hablaré hablarás hablará hablaremos hablarán
comer: comeré comerás comerá comeremos comerán
vivir: viviré vivirás vivirá viviremos vivirán
ser: seré serás será seremos serán
ir: iré irás irá iremos irán
tener: tendré tendrás tendrá tendremos tendrán
venir: vendré vendrás vendrá vendremos vendrán
poner: pondré pondrás pondrá pondremos pondrán
salir: saldré saldrás saldrá saldremos saldrán
poder: podré podrás podrá podremos podrán
saber: sabré sabrás sabrá sabremos sabrán
querer: querré querrás querrá querremos querrán
hacer: haré harás hará haremos harán
decir: diré dirás dirá diremos dirán
haber: habré habrás habrá habremos habrán
"""
# infinitive: participle, gerund, command, prohibition (both to tú)
OTHER = """
hablar: hablado hablando habla hables
comer: comido comiendo come comas
vivir: vivido viviendo vive vivas
pensar: pensado pensando piensa pienses
jugar: jugado jugando juega juegues
empezar: empezado empezando empieza empieces
buscar: buscado buscando busca busques
llegar: llegado llegando llega llegues
cerrar: cerrado cerrando cierra cierres
volver: vuelto volviendo vuelve vuelvas
pedir: pedido pidiendo pide pidas
dormir: dormido durmiendo duerme duermas
preferir: preferido prefiriendo prefiere prefieras
vestir: vestido vistiendo viste vistas
leer: leído leyendo lee leas
traer: traído trayendo trae traigas
abrir: abierto abriendo abre abras
escribir: escrito escribiendo escribe escribas
romper: roto rompiendo rompe rompas
ver: visto viendo ve veas
hacer: hecho haciendo haz hagas
decir: dicho diciendo di digas
poner: puesto poniendo pon pongas
salir: salido saliendo sal salgas
tener: tenido teniendo ten tengas
venir: venido viniendo ven vengas
ir: ido yendo ve vayas
ser: sido siendo sé seas
estar: estado estando está estés
dar: dado dando da des
saber: sabido sabiendo sabe sepas
conducir: conducido conduciendo conduce conduzcas
enviar: enviado enviando envía envíes
"""


def rows(table: str) -> list[tuple[str, list[str]]]:
    return [(verb, forms.split()) for verb, forms in (line.split(": ") for line in table.strip().splitlines())]


@pytest.mark.parametrize(
    ("tense", "table"),
    [("present", PRESENT), ("preterite", PRETERITE), ("imperfect", IMPERFECT), ("future", FUTURE)],
)
def test_conjugated_forms(tense: SimpleTense, table: str) -> None:
    for verb, forms in rows(table):
        assert [conjugate(verb, tense, person) for person in Person] == forms


def test_other_forms() -> None:
    for verb, forms in rows(OTHER):
        assert [participle(verb), gerund(verb), command(verb), prohibition(verb)] == forms


ENGLISH = """
eat: eats ate eaten eating
go: goes went gone going
study: studies studied studied studying
play: plays played played playing
buy: buys bought bought buying
watch: watches watched watched watching
wash: washes washed washed washing
fix: fixes fixed fixed fixing
use: uses used used using
write: writes wrote written writing
see: sees saw seen seeing
run: runs ran run running
swim: swims swam swum swimming
travel: travels travelled travelled travelling
visit: visits visited visited visiting
open: opens opened opened opening
prefer: prefers preferred preferred preferring
forget: forgets forgot forgotten forgetting
put: puts put put putting
show: shows showed shown showing
have: has had had having
rest: rests rested rested resting
need: needs needed needed needing
clean: cleans cleaned cleaned cleaning
cook: cooks cooked cooked cooking
sleep: sleeps slept slept sleeping
begin: begins began begun beginning
"""


def test_english_verbs() -> None:
    for verb, forms in rows(ENGLISH):
        assert [form(verb) for form in (english.third, english.past, english.participle, english.gerund)] == forms
    assert english.past("look for") == "looked for"
    assert english.third("have breakfast") == "has breakfast"
