import CloudKitHTTP
import CloudKitModel

/// A form of a page that has several, with what was sent and what is wrong with it.
///
/// Its fields have the values that were sent, so that nothing has to be written again.
struct SentForm {
    /// Tells the forms of a page apart; sent with the form.
    let id: String
    /// The values of the fields; the page's own for a form that was not sent.
    private let fields: FormFields?
    /// What is wrong; nil for a form that was not sent.
    private let problem: FormProblem?

    /// The field with the form's `id`.
    static let idField = "form"

    /// - Parameters:
    ///   - id: Tells the forms of a page apart.
    ///   - problem: What is wrong with the form that was sent.
    ///   - isDone: Whether it was carried out, so that its fields begin again.
    init(_ id: String, of request: PageRequest, _ problem: FormProblem?, isDone: Bool = false) {
        self.id = id
        let isSent = request.form[Self.idField] == id && !isDone
        fields = isSent ? request.form : nil
        self.problem = isSent ? problem : nil
    }

    /// Returns the form, with what is wrong with it as a whole in front of its fields.
    ///
    /// - Parameter label: The name of the form for screen readers; nil where a heading says enough.
    func html(
        _ request: PageRequest, to address: Address, label: String? = nil, @HTMLBuilder content: () -> HTML
    ) -> HTML {
        request.postForm(to: address, label: label) {
            Input.hidden(Self.idField, id)
            if let problem, problem.field == nil {
                Tag.div(.class("field wide")) { Part.failure(problem.failure, requestUUID: request.incoming.uuid) }
            }
            content()
        }
    }

    /// Returns a line of text.
    ///
    /// - Parameters:
    ///   - value: The value of a form that was not sent.
    ///   - hint: What to write there.
    ///   - suggestions: Texts that a browser offers.
    func text(
        _ label: String, name: String, value: String = "", hint: String? = nil, suggestions: [String] = [],
        isRequired: Bool = false, lengthMax: Int = 4096
    ) -> HTML {
        let element = elementID(name)
        return field(label, name: name, hint: hint) {
            Tag.input(
                .id(element), .type("text"), .name(name), .value(sent(name) ?? value), .autocomplete("off"),
                .isRequired(isRequired), .lengthMax(lengthMax), .isInvalid(error(name) != nil),
                .describedBy(describedBy(name, hint)), .list(suggestions.isEmpty ? nil : "\(element)-list"))
            if !suggestions.isEmpty {
                Tag.datalist(.id("\(element)-list")) { suggestions.map { Tag.option(.value($0)) } }
            }
        }
    }

    /// Returns a text of several lines.
    func lines(
        _ label: String, name: String, value: String = "", hint: String? = nil, rows: Int = 8, isCode: Bool = false
    ) -> HTML {
        // What is wrong stands above the text, where it is seen.
        Tag.div(.class("field wide")) {
            Tag.label(.for(elementID(name)), text: label)
            errorText(name)
            Tag.textarea(
                .id(elementID(name)), .name(name), .rows(rows), .class(isCode ? "code" : ""),
                .isInvalid(error(name) != nil), .describedBy(describedBy(name, hint)),
                // A line break right behind the tag is not part of the value.
                text: "\n" + (sent(name) ?? value))
            hintText(name, hint)
        }
    }

    /// Returns a choice of one of some values.
    func choice(
        _ label: String, name: String, options: [(value: String, text: String)], selected: String? = nil,
        hint: String? = nil
    ) -> HTML {
        field(label, name: name, hint: hint) {
            Tag.select(
                .id(elementID(name)), .name(name), .isInvalid(error(name) != nil), .describedBy(describedBy(name, hint))
            ) {
                options.map {
                    Tag.option(
                        .value($0.value), .isSelected($0.value == (sent(name) ?? selected)), text: $0.text)
                }
            }
        }
    }

    /// Returns a box to tick; several may have one name and differ by their values.
    func check(_ label: String, name: String, value: String = "on", isChecked: Bool = false) -> HTML {
        let element = elementID("\(name)-\(value)")
        let error = error(name)
        return Tag.div(.class("field check")) {
            Tag.input(
                .id(element), .type("checkbox"), .name(name), .value(value),
                .isChecked(fields.map { $0.all(name).contains(value) } ?? isChecked), .isInvalid(error != nil),
                .describedBy(error.map { _ in "\(elementID(name))-error" }))
            Tag.label(.for(element), text: label)
            errorText(name)
        }
    }

    /// Returns the identifier of a field's element.
    func elementID(_ name: String) -> String { "\(id)-\(name)" }

    private func field(
        _ label: String, name: String, hint: String?, @HTMLBuilder content: () -> HTML
    ) -> HTML {
        Tag.div(.class("field")) {
            Tag.label(.for(elementID(name)), text: label)
            content()
            errorText(name)
            hintText(name, hint)
        }
    }

    private func hintText(_ name: String, _ hint: String?) -> HTML? {
        hint.map { Tag.small(.id("\(elementID(name))-hint"), .class("hint"), text: $0) }
    }

    private func sent(_ name: String) -> String? { fields.map { $0.exact(name) ?? "" } }

    private func error(_ name: String) -> RequestFailure? { problem?.field == name ? problem?.failure : nil }

    private func errorText(_ name: String) -> HTML? {
        error(name).map { failure in
            Tag.p(.id("\(elementID(name))-error"), .class("problem"), .role("alert")) {
                Part.name(failure.sentence)
                failure.remedy.map { HTML(" " + $0) }
            }
        }
    }

    private func describedBy(_ name: String, _ hint: String?) -> String? {
        let ids = [
            error(name).map { _ in "\(elementID(name))-error" }, hint.map { _ in "\(elementID(name))-hint" },
        ].compactMap { $0 }
        return ids.isEmpty ? nil : ids.joined(separator: " ")
    }
}

/// What is wrong with a form that was sent.
struct FormProblem: Error {
    /// The field that is wrong; nil for the form as a whole.
    var field: String?
    /// What is wrong.
    var failure: RequestFailure

    /// - Parameters:
    ///   - reason: A sentence without the full stop.
    init(_ field: String?, _ reason: String, remedy: String? = nil) {
        self.field = field
        failure = RequestFailure(.badRequest, reason, remedy: remedy)
    }

    /// - Parameter field: The field that a failure is about.
    init(_ failure: RequestFailure, field: String? = nil) {
        self.field = field
        self.failure = failure
    }
}

extension RequestFailure {
    /// The reason with a capital letter and a full stop.
    fileprivate var sentence: String {
        let text = reason.prefix(1).uppercased() + reason.dropFirst()
        return text.hasSuffix(".") ? text : text + "."
    }
}

/// A page with forms that is shown again, with what is wrong, when one of them cannot be carried out.
protocol FormPage: ConsolePage {
    /// Returns the page.
    ///
    /// - Parameter problem: What is wrong with the form that was sent.
    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse

    /// Carries out what a form orders.
    ///
    /// - Throws: `FormProblem` or `RequestFailure` for what is wrong with it.
    func carryOut(_ request: PageRequest) async throws -> PageResponse
}

extension FormPage {
    /// Returns the page.
    func show(_ request: PageRequest) async throws -> PageResponse { try await page(request, nil) }

    /// Carries out what a form orders; shows the page again where it cannot be.
    func submit(_ request: PageRequest) async throws -> PageResponse {
        let problem: FormProblem
        do {
            return try await carryOut(request)
        } catch let found as FormProblem {
            problem = found
        } catch let failure as RequestFailure where failure.code != .endpointNotFound {
            problem = FormProblem(failure)
        }
        guard case .page(var content) = try await page(request, problem) else { throw problem.failure }
        content.status = .init(code: problem.failure.code.httpStatus)
        return .page(content)
    }
}

extension PageRequest {
    /// Returns the page that asks before what was sent is carried out: the same form with one button.
    ///
    /// - Parameters:
    ///   - title: The question.
    ///   - button: The words for going on.
    ///   - back: The page for a change of mind.
    ///   - content: What happens then.
    func confirmation(
        _ title: String, button: String, to address: Address, back: Address, @HTMLBuilder content: () -> HTML
    ) -> PageResponse {
        .page(title: title) {
            content()
            postForm(to: address, label: title) {
                for name in form.names.sorted() where name != Self.formTokenField && name != Self.confirmedField {
                    form.all(name).map { Input.hidden(name, $0) }
                }
                Input.hidden(Self.confirmedField, "yes")
                Input.submit(button, isDangerous: true)
                Tag.p { Part.link("Back, change nothing", back) }
            }
        }
    }

    /// Whether the operator has confirmed what was sent.
    var isConfirmed: Bool { form[Self.confirmedField] == "yes" }

    private static let confirmedField = "confirmed"
}
