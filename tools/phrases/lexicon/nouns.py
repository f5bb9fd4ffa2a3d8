"""Things. The kinds decide what can be said of a noun; most are the past participle of what is done to it.

small: lies on a table or in a box    furniture: things lie on it    container: things are in it
mass: not counted (bread)             hot: served hot or cold        full: can be full or empty
paired, several: mostly in the plural (shoes, eggs)                  single: mostly in the singular (my phone)
wild: nobody's own (an eagle, a wall)
"""

from __future__ import annotations

from functools import cache

from tools.phrases.lexicon.words import Noun, noun

THINGS: tuple[Noun, ...] = (
    # to read and to write
    noun("book", "libro", "m", "goods read written sent lost small coloured aged long interesting good wanted lent"),
    noun("letter", "carta", "f", "read written sent lost small long important"),
    noun("newspaper", "periódico", "m", "read bought small interesting wanted"),
    noun("magazine", "revista", "f", "goods read small interesting wanted"),
    noun("novel", "novela", "f", "read written bought long interesting good wanted"),
    noun("poem", "poema", "m", "read written long pretty good interesting"),
    noun("map", "mapa", "m", "bought lost small aged wanted"),
    noun("photo", "foto", "f", "sent lost small pretty aged"),
    noun("pencil", "lápiz", "m", "bought lost small coloured lent"),
    noun("notebook", "cuaderno", "m", "goods lost small coloured aged"),
    noun("dictionary", "diccionario", "m", "goods lost small heavy aged good wanted lent"),
    # at home
    noun("house", "casa", "f", "single goods painted coloured sized aged pretty modern cleaned wanted dear good"),
    noun("door", "puerta", "f", "opened painted coloured shut"),
    noun("window", "ventana", "f", "opened cleaned broken sized shut"),
    noun("wall", "pared", "f", "painted coloured wild"),
    noun("table", "mesa", "f", "goods furniture painted coloured sized aged heavy cleaned wanted"),
    noun("chair", "silla", "f", "goods furniture painted coloured aged comfortable broken wanted"),
    noun("bed", "cama", "f", "goods furniture sized comfortable wanted"),
    noun("sofa", "sofá", "m", "goods furniture sized comfortable coloured aged wanted"),
    noun("box", "caja", "f", "opened coloured container sized heavy full shut"),
    noun("bag", "bolsa", "f", "opened coloured container lost sized heavy full bought shut"),
    noun("suitcase", "maleta", "f", "goods opened lost coloured container sized heavy full wanted shut lent"),
    noun("bottle", "botella", "f", "opened broken full small shut"),
    noun("glass", "vaso", "m", "broken full dirty small washed"),
    noun("cup", "taza", "f", "broken full dirty small washed coloured bought"),
    noun("plate", "plato", "m", "broken dirty washed coloured bought small"),
    noun("lamp", "lámpara", "f", "goods broken small pretty modern wanted"),
    noun("clock", "reloj", "m", "goods fixed small aged pretty wanted"),
    noun("radio", "radio", "f", "single goods fixed used small aged"),
    noun("phone", "teléfono", "m", "single goods fixed used lost small aged modern wanted"),
    noun("computer", "ordenador", "m", "single goods fixed used aged fast modern wanted"),
    noun("key", "llave", "f", "lost small"),
    noun("ring", "anillo", "m", "goods lost small pretty given wanted"),
    noun("gift", "regalo", "m", "bought given small interesting"),
    # clothes
    noun("shirt", "camisa", "f", "goods washed coloured aged dirty pretty worn given wanted"),
    noun("dress", "vestido", "m", "goods washed coloured aged dirty pretty long worn elegant given wanted"),
    noun("hat", "sombrero", "m", "goods lost coloured pretty worn elegant given wanted"),
    noun("coat", "abrigo", "m", "goods lost coloured long aged worn elegant wanted lent"),
    noun("shoe", "zapato", "m", "goods lost coloured comfortable dirty aged worn paired wanted"),
    noun("umbrella", "paraguas", "m", "goods lost coloured small wanted lent"),
    # going about
    noun("car", "coche", "m", "goods fixed used washed coloured sized aged fast comfortable modern dirty wanted lent"),
    noun("bicycle", "bicicleta", "f", "goods fixed used coloured aged fast given wanted lent"),
    noun("ticket", "billete", "m", "bought lost small wanted dear"),
    # living things
    noun("plant", "planta", "f", "bought coloured pretty sized given"),
    noun("flower", "flor", "f", "bought sent coloured pretty given"),
    noun("tree", "árbol", "m", "high pretty sized wild"),
    # of the mind
    noun("song", "canción", "f", "sung written pretty long remembered good"),
    noun("film", "película", "f", "watched long interesting good wild"),
    noun("idea", "idea", "f", "interesting good understood important"),
    noun("problem", "problema", "m", "task important understood"),
    noun("question", "pregunta", "f", "task important interesting understood good"),
    noun("answer", "respuesta", "f", "important understood remembered good"),
    noun("word", "palabra", "f", "long task remembered understood wild"),
    noun("exam", "examen", "m", "task long important"),
    noun("exercise", "ejercicio", "m", "task long done"),
    noun("language", "idioma", "m", "task interesting understood wild"),
    # food and drink
    noun("bread", "pan", "m", "eaten mass bought good"),
    noun("cheese", "queso", "m", "eaten mass bought good"),
    noun("meat", "carne", "f", "eaten mass bought hot cooked"),
    noun("rice", "arroz", "m", "eaten mass bought hot cooked"),
    noun("fish", "pescado", "m", "eaten mass bought cooked"),
    noun("fruit", "fruta", "f", "eaten mass bought"),
    noun("soup", "sopa", "f", "eaten mass hot cooked good"),
    noun("chocolate", "chocolate", "m", "eaten mass bought good"),
    noun("apple", "manzana", "f", "eaten bought served coloured"),
    noun("orange", "naranja", "f", "eaten bought served"),
    noun("tomato", "tomate", "m", "eaten bought served several"),
    noun("potato", "patata", "f", "eaten bought served several"),
    noun("egg", "huevo", "m", "eaten bought served several"),
    noun("cake", "pastel", "m", "eaten bought cooked served good"),
    noun("sandwich", "bocadillo", "m", "eaten bought served good"),
    noun("salad", "ensalada", "f", "eaten cooked good"),
    noun("water", "agua", "f", "drunk mass hot"),
    noun("milk", "leche", "f", "drunk mass hot bought"),
    noun("coffee", "café", "m", "drunk mass hot bought good"),
    noun("tea", "té", "m", "drunk mass hot bought good"),
    noun("wine", "vino", "m", "drunk mass bought good"),
    noun("juice", "zumo", "m", "drunk mass bought"),
    noun("beer", "cerveza", "f", "drunk mass bought"),
)

PLACES: tuple[Noun, ...] = (
    noun("school", "escuela", "f", "visited building worked modern sized good"),
    noun("university", "universidad", "f", "visited building worked modern famous sized"),
    noun("library", "biblioteca", "f", "visited building worked modern quiet sized opens"),
    noun("museum", "museo", "m", "visited building worked modern famous interesting opens good"),
    noun("hospital", "hospital", "m", "visited building worked modern sized"),
    noun("hotel", "hotel", "m", "visited building worked modern comfortable dear sized famous good"),
    noun("restaurant", "restaurante", "m", "visited building worked dear famous modern opens quiet good"),
    noun("bank", "banco", "m", "visited building worked opens"),
    noun("station", "estación", "f", "visited building modern sized"),
    noun("airport", "aeropuerto", "m", "visited building worked modern sized"),
    noun("market", "mercado", "m", "visited building worked opens sized"),
    noun("shop", "tienda", "f", "visited building worked opens dear sized"),
    noun("cinema", "cine", "m", "visited building modern opens"),
    noun("church", "iglesia", "f", "visited building pretty famous sized"),
    noun("pharmacy", "farmacia", "f", "visited building worked opens"),
    noun("park", "parque", "m", "visited building pretty quiet sized"),
    noun("square", "plaza", "f", "visited building pretty quiet sized famous"),
    noun("beach", "playa", "f", "visited pretty quiet famous"),
    noun("river", "río", "m", "visited long"),
    noun("street", "calle", "f", "long quiet"),
    noun("mountain", "montaña", "f", "high pretty"),
    noun("village", "pueblo", "m", "visited pretty quiet sized"),
    noun("city", "ciudad", "f", "visited pretty sized interesting modern famous"),
    noun("garden", "jardín", "m", "pretty quiet sized room"),
)

ROOMS: tuple[Noun, ...] = (
    noun("kitchen", "cocina", "f", "room indoors sized cleaned modern dirty painted"),
    noun("bathroom", "baño", "m", "room indoors sized cleaned modern dirty painted"),
    noun("bedroom", "dormitorio", "m", "room indoors sized cleaned comfortable painted"),
    noun("office", "oficina", "f", "room indoors sized cleaned modern worked visited quiet"),
    noun("classroom", "aula", "f", "room indoors sized cleaned modern"),
)

VEHICLES: tuple[Noun, ...] = (
    noun("train", "tren", "m", "wild fast comfortable modern"),
    noun("bus", "autobús", "m", "wild fast comfortable modern"),
    noun("plane", "avión", "m", "wild fast comfortable modern"),
    noun("ship", "barco", "m", "wild sized comfortable modern"),
)

ANIMALS: tuple[Noun, ...] = (
    noun("dog", "perro", "m", "pet sized fast pretty"),
    noun("cat", "gato", "m", "pet sized pretty"),
    noun("horse", "caballo", "m", "sized fast pretty wild"),
    noun("bird", "pájaro", "m", "pretty coloured wild"),
    noun("eagle", "águila", "f", "sized fast pretty wild"),
)

# (English, Spanish, gender): what hurts; hands and feet come in pairs
BODY: tuple[Noun, ...] = (
    noun("head", "cabeza", "f", "single"),
    noun("back", "espalda", "f", "single"),
    noun("stomach", "estómago", "m", "single"),
    noun("hand", "mano", "f", "paired"),
    noun("foot", "pie", "m", "paired"),
    noun("leg", "pierna", "f", "paired"),
    noun("arm", "brazo", "m", "paired"),
    noun("eye", "ojo", "m", "paired"),
    noun("tooth", "diente", "m", "paired"),
)

MATERIALS: tuple[Noun, ...] = (
    noun("wood", "madera", "f", "table chair bed box door house"),
    noun("plastic", "plástico", "m", "chair bag box bottle plate glass table cup"),
    noun("metal", "metal", "m", "table chair key lamp box door bed"),
    noun("gold", "oro", "m", "ring clock"),
    noun("silver", "plata", "f", "ring clock plate"),
    noun("paper", "papel", "m", "bag flower hat"),
    noun("cotton", "algodón", "m", "shirt dress"),
    noun("leather", "cuero", "m", "shoe bag suitcase sofa coat"),
)

ALL: tuple[Noun, ...] = THINGS + PLACES + ROOMS + VEHICLES + ANIMALS
COUNTED: tuple[Noun, ...] = tuple(n for n in ALL if "mass" not in n.kinds)


@cache
def of_kind(*kinds: str) -> tuple[Noun, ...]:
    """The nouns that are of any of these kinds, in the order of the tables."""
    return tuple(n for n in ALL if n.kinds & set(kinds))


@cache
def counted(*kinds: str) -> tuple[Noun, ...]:
    return tuple(n for n in of_kind(*kinds) if "mass" not in n.kinds)


@cache
def the(english: str) -> Noun:
    """The entry of an English noun."""
    return next(n for n in (*ALL, *BODY, *MATERIALS) if n.english == english)
