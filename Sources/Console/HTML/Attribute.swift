/// An attribute of an element. Addresses go into pages as `Address` alone, so none can be a script.
struct Attribute: Hashable, Sendable {
    /// With the space before it.
    let markup: String

    private init(_ name: StaticString, _ value: String) { markup = " \(name)=\"\(HTML.escaped(value))\"" }
    private init(_ name: StaticString, isOn: Bool) { markup = isOn ? " \(name)" : "" }

    static func id(_ value: String) -> Self { Self("id", value) }
    static func `class`(_ value: String) -> Self { Self("class", value) }
    static func href(_ value: Address) -> Self { Self("href", value.text) }
    /// A link to a part of the same page.
    static func href(part id: String) -> Self { Self("href", "#" + id) }
    static func src(_ value: Address) -> Self { Self("src", value.text) }
    static func action(_ value: Address) -> Self { Self("action", value.text) }
    static func `for`(_ value: String) -> Self { Self("for", value) }
    static func name(_ value: String) -> Self { Self("name", value) }
    static func value(_ value: String) -> Self { Self("value", value) }
    static func type(_ value: StaticString) -> Self { Self("type", "\(value)") }
    static func method(_ value: StaticString) -> Self { Self("method", "\(value)") }
    static func rel(_ value: StaticString) -> Self { Self("rel", "\(value)") }
    static func lang(_ value: String) -> Self { Self("lang", value) }
    static func dir(_ value: StaticString) -> Self { Self("dir", "\(value)") }
    static func title(_ value: String) -> Self { Self("title", value) }
    static func role(_ value: StaticString) -> Self { Self("role", "\(value)") }
    static func scope(_ value: StaticString) -> Self { Self("scope", "\(value)") }
    static func columnCount(_ value: Int) -> Self { Self("colspan", "\(value)") }
    static func rows(_ value: Int) -> Self { Self("rows", "\(value)") }
    static func size(_ value: Int) -> Self { Self("size", "\(value)") }
    static func lengthMax(_ value: Int) -> Self { Self("maxlength", "\(value)") }
    static func minimum(_ value: Int) -> Self { Self("min", "\(value)") }
    static func maximum(_ value: Int) -> Self { Self("max", "\(value)") }
    static func placeholder(_ value: String) -> Self { Self("placeholder", value) }
    static func list(_ id: String?) -> Self { id.map { Self("list", $0) } ?? Self("list", isOn: false) }
    static func autocomplete(_ value: StaticString) -> Self { Self("autocomplete", "\(value)") }
    static func tabIndex(_ value: Int) -> Self { Self("tabindex", "\(value)") }
    static func dateTime(_ value: String) -> Self { Self("datetime", value) }
    static func labelledBy(_ id: String) -> Self { Self("aria-labelledby", id) }
    static func describedBy(_ id: String?) -> Self {
        id.map { Self("aria-describedby", $0) } ?? Self("aria-describedby", isOn: false)
    }
    static func label(_ value: String?) -> Self {
        value.map { Self("aria-label", $0) } ?? Self("aria-label", isOn: false)
    }
    static func current(_ isCurrent: Bool) -> Self {
        isCurrent ? Self("aria-current", "page") : Self("class", isOn: false)
    }
    /// Marks a link to a section of which a page is shown.
    static func within(_ isWithin: Bool) -> Self {
        isWithin ? Self("aria-current", "true") : Self("aria-current", isOn: false)
    }
    static func live(_ value: StaticString) -> Self { Self("aria-live", "\(value)") }
    static func isInvalid(_ value: Bool) -> Self {
        value ? Self("aria-invalid", "true") : Self("aria-invalid", isOn: false)
    }
    static func isHidden(_ value: Bool) -> Self { Self("hidden", isOn: value) }
    static func isHiddenFromReaders() -> Self { Self("aria-hidden", "true") }
    static func isRequired(_ value: Bool) -> Self { Self("required", isOn: value) }
    static func isChecked(_ value: Bool) -> Self { Self("checked", isOn: value) }
    static func isSelected(_ value: Bool) -> Self { Self("selected", isOn: value) }
    static func isDisabled(_ value: Bool) -> Self { Self("disabled", isOn: value) }
    static func isOpen(_ value: Bool) -> Self { Self("open", isOn: value) }
    static func isAutofocused(_ value: Bool) -> Self { Self("autofocus", isOn: value) }
    static func isDeferred() -> Self { Self("defer", isOn: true) }
    static func charset(_ value: StaticString) -> Self { Self("charset", "\(value)") }
    static func content(_ value: StaticString) -> Self { Self("content", "\(value)") }
    static func metaName(_ value: StaticString) -> Self { Self("name", "\(value)") }
    /// A value for the script, as `data-name`; `name` is a literal with the whole name, such as `data-poll`.
    static func data(_ name: StaticString, _ value: String) -> Self {
        precondition("\(name)".hasPrefix("data-"), "attributes for the script begin with data-")
        return Self(name, value)
    }
    /// An attribute of an element of SVG, whose name is a literal; not for addresses.
    static func svg(_ name: StaticString, _ value: String) -> Self {
        precondition(!"\(name)".hasPrefix("on") && !"\(name)".hasSuffix("href"), "charts have no links and scripts")
        return Self(name, value)
    }
}
