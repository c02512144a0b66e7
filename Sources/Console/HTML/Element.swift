/// A kind of element, which is called with attributes and content to make one.
struct Element: Sendable {
    /// A literal.
    let tag: StaticString

    /// Returns an element with content.
    func callAsFunction(_ attributes: Attribute..., @HTMLBuilder content: () -> HTML) -> HTML {
        HTML(tag: tag, attributes, content())
    }

    /// Returns an element with a text.
    func callAsFunction(_ attributes: Attribute..., text: String = "") -> HTML {
        HTML(tag: tag, attributes, HTML(text))
    }

    /// Returns an element with a text and no attributes.
    func callAsFunction(_ text: String) -> HTML { HTML(tag: tag, [], HTML(text)) }
}

/// A kind of element without content.
struct VoidElement: Sendable {
    /// A literal.
    let tag: StaticString

    /// Returns an element.
    func callAsFunction(_ attributes: Attribute...) -> HTML { HTML(tag: tag, attributes, nil) }
}

/// The elements of pages.
enum Tag {
    static let a = Element(tag: "a")
    static let article = Element(tag: "article")
    static let b = Element(tag: "b")
    static let bdi = Element(tag: "bdi")
    static let button = Element(tag: "button")
    static let caption = Element(tag: "caption")
    static let code = Element(tag: "code")
    static let dd = Element(tag: "dd")
    static let details = Element(tag: "details")
    static let div = Element(tag: "div")
    static let dl = Element(tag: "dl")
    static let dt = Element(tag: "dt")
    static let em = Element(tag: "em")
    static let fieldset = Element(tag: "fieldset")
    static let footer = Element(tag: "footer")
    static let form = Element(tag: "form")
    static let h1 = Element(tag: "h1")
    static let h2 = Element(tag: "h2")
    static let h3 = Element(tag: "h3")
    static let header = Element(tag: "header")
    static let label = Element(tag: "label")
    static let legend = Element(tag: "legend")
    static let li = Element(tag: "li")
    static let main = Element(tag: "main")
    static let nav = Element(tag: "nav")
    static let ol = Element(tag: "ol")
    static let option = Element(tag: "option")
    static let p = Element(tag: "p")
    static let pre = Element(tag: "pre")
    static let section = Element(tag: "section")
    static let select = Element(tag: "select")
    static let small = Element(tag: "small")
    static let span = Element(tag: "span")
    static let strong = Element(tag: "strong")
    static let summary = Element(tag: "summary")
    static let table = Element(tag: "table")
    static let tbody = Element(tag: "tbody")
    static let td = Element(tag: "td")
    static let textarea = Element(tag: "textarea")
    static let tfoot = Element(tag: "tfoot")
    static let th = Element(tag: "th")
    static let thead = Element(tag: "thead")
    static let time = Element(tag: "time")
    static let tr = Element(tag: "tr")
    static let ul = Element(tag: "ul")
    static let svg = Element(tag: "svg")
    static let g = Element(tag: "g")
    static let path = Element(tag: "path")
    static let rect = Element(tag: "rect")
    static let title = Element(tag: "title")
    static let circle = Element(tag: "circle")
    static let line = Element(tag: "line")
    static let text = Element(tag: "text")
    static let head = Element(tag: "head")
    static let body = Element(tag: "body")
    static let html = Element(tag: "html")
    static let script = Element(tag: "script")
    static let datalist = Element(tag: "datalist")
    static let br = VoidElement(tag: "br")
    static let hr = VoidElement(tag: "hr")
    static let input = VoidElement(tag: "input")
    static let link = VoidElement(tag: "link")
    static let meta = VoidElement(tag: "meta")
}
