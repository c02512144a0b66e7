extension PageRequest {
    /// Returns a form that is sent to a page of the Console, with the token that proves that it comes from there.
    ///
    /// - Parameters:
    ///   - address: The page whose `submit` handles it.
    ///   - label: The name of the form for screen readers; nil where a heading says enough.
    func postForm(to address: Address, label: String? = nil, @HTMLBuilder content: () -> HTML) -> HTML {
        Tag.form(.method("post"), .action(address), .label(label)) {
            Tag.input(.type("hidden"), .name(Self.formTokenField), .value(formToken))
            content()
        }
    }

    /// Returns a form of one button that orders something.
    ///
    /// - Parameter fields: Hidden ones.
    func button(
        _ text: String, to address: Address, fields: KeyValuePairs<String, String> = [:], isDangerous: Bool = false
    ) -> HTML {
        postForm(to: address, label: text) {
            fields.map { Tag.input(.type("hidden"), .name($0.key), .value($0.value)) }
            Tag.button(.type("submit"), .class(isDangerous ? "danger" : ""), text: text)
        }
    }

    /// The field with the form's token.
    static let formTokenField = "form-token"
}

/// Returns a form that asks for another view of a page, by its address.
func viewForm(_ address: Address, label: String, @HTMLBuilder content: () -> HTML) -> HTML {
    Tag.form(.method("get"), .action(address), .label(label), .class("view")) { content() }
}

/// The inputs of forms, each with its label.
enum Input {
    /// Returns a line of text.
    ///
    /// - Parameters:
    ///   - hint: What to write there.
    ///   - suggestions: Texts that a browser offers.
    static func text(
        _ label: String, name: String, value: String = "", hint: String? = nil, suggestions: [String] = [],
        isRequired: Bool = false, isAutofocused: Bool = false, isSecret: Bool = false, lengthMax: Int = 4096
    ) -> HTML {
        let id = "field-\(name)"
        return Tag.div(.class("field")) {
            Tag.label(.for(id), text: label)
            if isSecret {
                Tag.input(
                    .id(id), .type("password"), .name(name), .autocomplete("off"), .isRequired(isRequired),
                    .isAutofocused(isAutofocused), .lengthMax(lengthMax), .describedBy(hint.map { _ in "\(id)-hint" }))
            } else {
                Tag.input(
                    .id(id), .type("text"), .name(name), .value(value), .autocomplete("off"), .isRequired(isRequired),
                    .isAutofocused(isAutofocused), .lengthMax(lengthMax), .describedBy(hint.map { _ in "\(id)-hint" }),
                    .list(suggestions.isEmpty ? nil : "\(id)-list"))
            }
            hintText(hint, id: id)
            if !suggestions.isEmpty {
                Tag.datalist(.id("\(id)-list")) { suggestions.map { Tag.option(.value($0)) } }
            }
        }
    }

    /// Returns a text of several lines.
    static func lines(
        _ label: String, name: String, value: String = "", hint: String? = nil, rows: Int = 8, isRequired: Bool = false
    ) -> HTML {
        let id = "field-\(name)"
        return Tag.div(.class("field wide")) {
            Tag.label(.for(id), text: label)
            Tag.textarea(
                .id(id), .name(name), .rows(rows), .isRequired(isRequired),
                .describedBy(hint.map { _ in "\(id)-hint" }),
                // A line break right behind the tag is not part of the value.
                text: "\n" + value)
            hintText(hint, id: id)
        }
    }

    /// Returns a choice of one of some values.
    ///
    /// - Parameters:
    ///   - options: Values with the texts that stand for them.
    ///   - selected: The value that is chosen.
    static func choice(
        _ label: String, name: String, options: [(value: String, text: String)], selected: String?, hint: String? = nil
    ) -> HTML {
        let id = "field-\(name)"
        return Tag.div(.class("field")) {
            Tag.label(.for(id), text: label)
            Tag.select(.id(id), .name(name), .describedBy(hint.map { _ in "\(id)-hint" })) {
                options.map { Tag.option(.value($0.value), .isSelected($0.value == selected), text: $0.text) }
            }
            hintText(hint, id: id)
        }
    }

    /// Returns a box to tick.
    static func check(
        _ label: String, name: String, value: String = "on", isChecked: Bool = false, isRequired: Bool = false
    ) -> HTML {
        let id = "field-\(name)-\(value)"
        return Tag.div(.class("field check")) {
            Tag.input(
                .id(id), .type("checkbox"), .name(name), .value(value), .isChecked(isChecked), .isRequired(isRequired))
            Tag.label(.for(id), text: label)
        }
    }

    /// Returns a field that is not shown.
    static func hidden(_ name: String, _ value: String) -> HTML {
        Tag.input(.type("hidden"), .name(name), .value(value))
    }

    /// Returns the button that sends the form.
    static func submit(_ text: String, isDangerous: Bool = false) -> HTML {
        Tag.div(.class("field buttons")) {
            Tag.button(.type("submit"), .class(isDangerous ? "danger" : "primary"), text: text)
        }
    }

    private static func hintText(_ hint: String?, id: String) -> HTML? {
        hint.map { Tag.small(.id("\(id)-hint"), .class("hint"), text: $0) }
    }
}
