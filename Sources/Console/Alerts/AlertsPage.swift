import CloudKitHTTP
import CloudKitLogs
import CloudKitModel

/// The rules by which the cloud tells its operator that something is wrong.
struct AlertsPage: ConsolePage {
    let alerts: any AlertStore

    let path = "alerts"
    let title = "Alerts"
    let navigation: String? = "Alerts"

    func show(_ request: PageRequest) async throws -> PageResponse { try content(request, problem: nil) }

    func submit(_ request: PageRequest) async throws -> PageResponse {
        if let name = request.form["remove"] {
            try await request.order("alerts/remove", details: ["alert": LogWord.cleaned(name)]) {
                var list = try alerts.rules()
                list.rules.removeAll { $0.name == name }
                try alerts.write(list)
            }
            return .redirect(Address("alerts"), notice: "The alert is removed.")
        }
        do throws(AlertRuleList.Problem) {
            let rule = try Self.rule(request.form)
            try await add(rule, request)
        } catch {
            return try content(request, problem: error.description)
        }
        return .redirect(Address("alerts"), notice: "The alert is saved.")
    }

    private func add(_ rule: AlertRule, _ request: PageRequest) async throws(AlertRuleList.Problem) {
        do {
            try await request.order("alerts/save", details: ["alert": rule.name, "measure": rule.measure.rawValue]) {
                var list = try alerts.rules()
                list.rules.removeAll { $0.name == rule.name }
                list.rules.append(rule)
                try alerts.write(list)
            }
        } catch let problem as AlertRuleList.Problem {
            throw problem
        } catch {
            throw AlertRuleList.Problem("the rules could not be written")
        }
    }

    /// Returns the rule of a form.
    static func rule(_ form: FormFields) throws(AlertRuleList.Problem) -> AlertRule {
        guard let measure = AlertRule.Measure(rawValue: form["measure"] ?? ""),
            let bound = form["bound"].flatMap({ Double($0) }), let minutes = form["minutes"].flatMap({ Int($0) })
        else { throw AlertRuleList.Problem("an alert needs a measure, a bound and minutes, which are numbers") }
        let actions = (form["actions"] ?? "log").split(whereSeparator: \.isWhitespace).map(String.init)
        var rule = AlertRule(name: form["name"] ?? "", measure: measure, minutes: minutes, actions: actions)
        if form["direction"] == "below" { rule.below = bound } else { rule.above = bound }
        rule.code = form["code"]
        rule.container = form["container"]
        rule.environment = form["environment"]
        rule.operation = form["operation"]
        rule.groupName = form["group"]
        if let problem = rule.problem { throw AlertRuleList.Problem(problem) }
        return rule
    }

    private func content(_ request: PageRequest, problem: String?) throws -> PageResponse {
        let rules = try alerts.rules().rules
        let since = alerts.episodes().since
        let form = request.form
        return .page(status: problem == nil ? .ok : .badRequest) {
            Part.table(
                caption: "Rules, checked every 15 seconds", columns: ["Name", "State", "Rule", "Actions", ""],
                rows: rules.map { rule in
                    [
                        Part.name(rule.name),
                        since[rule.name].map { HTML([Part.mark("since", .bad), HTML(" "), Part.time($0)]) }
                            ?? Part.mark("quiet", .good),
                        HTML(Self.text(of: rule)),
                        HTML(rule.actions.compactMap { AlertAction($0)?.shown }.joined(separator: ", ")),
                        request.button(
                            "Remove", to: Address("alerts"), fields: ["remove": rule.name], isDangerous: true),
                    ]
                }, empty: "There is no rule yet.")
            Part.section("Add or replace", id: "add") {
                if let problem { Part.alert { Tag.p(problem) } }
                request.postForm(to: Address("alerts"), label: "Add or replace an alert") {
                    Input.text("Name", name: "name", value: form["name"] ?? "", isRequired: true, lengthMax: 100)
                    Input.choice(
                        "Measure", name: "measure",
                        options: AlertRule.Measure.allCases.map { ($0.rawValue, Self.title(of: $0)) },
                        selected: form["measure"] ?? "errors")
                    Input.choice(
                        "Bound", name: "direction", options: [("above", "above"), ("below", "below")],
                        selected: form["direction"] ?? "above")
                    Input.text("Value", name: "bound", value: form["bound"] ?? "", isRequired: true, lengthMax: 30)
                    Input.text(
                        "Minutes", name: "minutes", value: form["minutes"] ?? "5", isRequired: true, lengthMax: 4)
                    Input.text(
                        "Error", name: "code", value: form["code"] ?? "", hint: "such as internalError", lengthMax: 100)
                    Input.text("Container", name: "container", value: form["container"] ?? "", lengthMax: 255)
                    Input.text("Operation", name: "operation", value: form["operation"] ?? "", lengthMax: 100)
                    Input.text("Operation group", name: "group", value: form["group"] ?? "", lengthMax: 255)
                    Input.lines(
                        "Actions", name: "actions", value: form["actions"] ?? "log",
                        hint: "log, https://… of a web hook, mailto: with an address; one in a line", rows: 3)
                    Input.submit("Save")
                }
            }
        }
    }

    private static func title(of measure: AlertRule.Measure) -> String {
        switch measure {
        case .requests: "requests"
        case .errors: "requests with an error"
        case .errorPercent: "errors in percent"
        case .throttles: "throttled requests"
        case .latency99: "latency p99 in ms"
        case .pushesDropped: "dropped notifications"
        case .freeMegabytes: "free disk in MB"
        case .storeMegabytes: "size of the store in MB"
        case .writable: "writing works (1) or not (0)"
        case .backupAgeMinutes: "age of the backup in minutes"
        case .backupLagSeconds: "seconds by which the backup is behind"
        }
    }

    private static func text(of rule: AlertRule) -> String {
        let bound = rule.above.map { "above \($0)" } ?? rule.below.map { "below \($0)" } ?? ""
        let place = [rule.container, rule.environment, rule.operation, rule.groupName, rule.code].compactMap { $0 }
        let concern = place.isEmpty ? "" : " of \(place.joined(separator: ", "))"
        return "\(title(of: rule.measure))\(concern) \(bound) in \(rule.minutes) min"
    }
}
